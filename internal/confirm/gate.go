package confirm

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Config is what a gate is made of.
type Config struct {
	Settings Settings
	Key      []byte // 32 bytes
	// Store is the folder that remembers spent approvals across restarts, ""
	// where the key does not outlive the process either.
	Store string

	Now  func() time.Time // nil: time.Now
	Rand io.Reader        // nil: crypto/rand
}

// Gate issues approvals to be given and accepts each of them once. Safe for
// concurrent use.
type Gate struct {
	settings Settings
	key      []byte
	spent    store
	disk     *directory
	now      func() time.Time
	rand     io.Reader

	// born begins the nonce of every approval that this gate issues.
	born    string
	doubted atomic.Bool

	mu     sync.Mutex
	latest time.Time // the latest time seen: the clock of the gate never goes back
}

// New makes a gate.
func New(c Config) (*Gate, error) {
	if len(c.Key) != 32 {
		return nil, fmt.Errorf("make the confirmation gate: the key has %d bytes, not 32", len(c.Key))
	}
	g := &Gate{settings: c.Settings, key: append([]byte(nil), c.Key...), spent: &memory{}, now: c.Now, rand: c.Rand}
	if g.now == nil {
		g.now = time.Now
	}
	if g.rand == nil {
		g.rand = rand.Reader
	}
	var b [6]byte
	if _, err := io.ReadFull(g.rand, b[:]); err != nil {
		return nil, fmt.Errorf("make the confirmation gate: %w", err)
	}
	g.born = b64.EncodeToString(b[:])
	if c.Store != "" {
		g.disk = &directory{path: c.Store}
		g.spent = both{&memory{}, g.disk}
	}
	return g, nil
}

// Settings returns the owner's choices.
func (g *Gate) Settings() Settings { return g.settings }

// Close releases the folder of the durable store.
func (g *Gate) Close() error {
	if g.disk == nil {
		return nil
	}
	return g.disk.close()
}

// Code says why an approval was not accepted.
type Code string

// The codes (the contract, section 5.6).
const (
	TokenInvalid Code = "TOKEN_INVALID" // not issued by this server, or no longer verifiable
	TokenReused  Code = "TOKEN_REUSED"  // one approval acts once
	TokenExpired Code = "TOKEN_EXPIRED" // approved too long ago
	DraftChanged Code = "DRAFT_CHANGED" // what would happen is not what was approved
)

// Rejection is an approval that was not accepted.
type Rejection struct{ Code Code }

// Error gives the code.
func (r *Rejection) Error() string { return string(r.Code) }

// Rejected gives the code of a [Rejection] in err's chain.
func Rejected(err error) (Code, bool) {
	var r *Rejection
	if errors.As(err, &r) {
		return r.Code, true
	}
	return "", false
}

// Approval is an approval that was checked and not yet used. The zero value
// cannot be spent.
type Approval struct {
	nonce  string
	expiry time.Time
}

// Offer is a token for one call.
type Offer struct {
	Token   string
	Expires time.Time
	TTL     time.Duration
}

// clock gives the time; it never goes back, so that a nonce which was pruned
// as expired cannot become valid again when the system's clock is set.
func (g *Gate) clock() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	// Wall time alone: Go compares two readings of the running clock by that, which
	// does not see the wall clock being set, and expiries are wall time.
	if n := g.now().Round(0); n.After(g.latest) {
		g.latest = n
	}
	return g.latest
}

// Offer issues a token for c. Earlier tokens stay valid. unanswered says that
// it is given in the place of a prompt that nobody answered.
func (g *Gate) Offer(c Call, unanswered bool) (Offer, error) {
	ttl := g.settings.TTL
	if ttl <= 0 {
		return Offer{}, errors.New("issue a confirmation token: no lifetime is set")
	}
	cl, err := g.claims(c, ttl)
	if err != nil {
		return Offer{}, err
	}
	cl.Unanswered = unanswered
	token, err := seal(g.key, tokenPrefix, cl)
	if err != nil {
		return Offer{}, fmt.Errorf("issue a confirmation token: %w", err)
	}
	return Offer{Token: token, Expires: time.UnixMilli(cl.Expiry), TTL: ttl}, nil
}

// Seal issues the state that a client carries from a prompt to the retry.
func (g *Gate) Seal(c Call) (string, error) {
	ttl := g.settings.TTL
	if ttl <= 0 {
		ttl = defaultTTL
	}
	cl, err := g.claims(c, ttl)
	if err != nil {
		return "", err
	}
	return seal(g.key, statePrefix, cl)
}

// claims describes c with a fresh nonce.
func (g *Gate) claims(c Call, ttl time.Duration) (claims, error) {
	hash, err := c.Hash()
	if err != nil {
		return claims{}, err
	}
	var n [12]byte
	if _, err := io.ReadFull(g.rand, n[:]); err != nil {
		return claims{}, fmt.Errorf("make a nonce: %w", err)
	}
	return claims{
		Tool: c.Tool, Target: c.Target, Hash: hash,
		Expiry: g.clock().Add(ttl).UnixMilli(), Nonce: g.born + b64.EncodeToString(n[:]),
	}, nil
}

// CheckToken verifies a token against the call as it stands now, without using
// it up. A *Rejection says why not; any other error means that the store could
// not answer, and nothing may run.
func (g *Gate) CheckToken(rawToken string, c Call) (Approval, error) {
	return g.check(tokenPrefix, rawToken, c)
}

// AfterPrompt reports whether a token of this gate was given because nobody
// answered a prompt. It says nothing of whether the token is still good.
func (g *Gate) AfterPrompt(rawToken string) bool {
	c, err := open(g.key, tokenPrefix, rawToken)
	return err == nil && c.Unanswered
}

// CheckState does the same for a state that a client brought back.
func (g *Gate) CheckState(rawState string, c Call) (Approval, error) {
	return g.check(statePrefix, rawState, c)
}

// Doubt says that scripts may have changed the folder of spent approvals. From
// then on only approvals that this gate issued count, since it remembers by
// itself which of them were used; with the folder gone nobody knows of others.
// Without a folder it changes nothing.
func (g *Gate) Doubt() { g.doubted.Store(true) }

// unknown reports whether nobody can say if a nonce was used.
func (g *Gate) unknown(nonce string) bool {
	return g.disk != nil && g.doubted.Load() && !strings.HasPrefix(nonce, g.born)
}

// check follows the order of the contract: form and MAC, tool, reuse, expiry,
// then what would happen.
func (g *Gate) check(prefix, rawText string, c Call) (Approval, error) {
	now := g.clock()
	if err := g.spent.prune(now); err != nil {
		return Approval{}, err
	}
	cl, err := open(g.key, prefix, rawText)
	if err != nil || cl.Tool != c.Tool {
		return Approval{}, &Rejection{TokenInvalid}
	}
	used, err := g.spent.has(cl.Nonce)
	if err != nil {
		return Approval{}, err
	}
	if used {
		return Approval{}, &Rejection{TokenReused}
	}
	if g.unknown(cl.Nonce) {
		return Approval{}, &Rejection{TokenInvalid}
	}
	if now.UnixMilli() > cl.Expiry {
		return Approval{}, &Rejection{TokenExpired}
	}
	hash, err := c.Hash()
	if err != nil {
		return Approval{}, err
	}
	if cl.Target != c.Target || cl.Hash != hash {
		return Approval{}, &Rejection{DraftChanged}
	}
	return Approval{nonce: cl.Nonce, expiry: time.UnixMilli(cl.Expiry)}, nil
}

// Spend uses an approval up. It succeeds once per token or state; a lost race
// is a *Rejection with [TokenReused]. Precondition: nothing but the run itself
// can still refuse the call.
func (g *Gate) Spend(a Approval) error {
	if a.nonce == "" {
		return &Rejection{TokenInvalid}
	}
	if g.clock().After(a.expiry) {
		return &Rejection{TokenExpired}
	}
	first, err := g.spent.claim(a.nonce, a.expiry)
	if err != nil {
		return err
	}
	if !first {
		return &Rejection{TokenReused}
	}
	return nil
}
