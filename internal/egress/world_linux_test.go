package egress

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"

	"skill-mcp/internal/tun"
)

// world is the network around a run: a name server, and servers on addresses
// that count as public (203.0.113.0/24 is for documentation) and on some that
// do not.
type world struct {
	dns    string
	caFile string
	// reached counts connections by the address they arrived at.
	loopback, private, metadata atomic.Int64
	rebinds                     atomic.Int64
}

var theWorld world

// publicAddress is where the listed names lead.
const publicAddress = "203.0.113.10"

// publicAddress6 is where a name that has IPv6 only leads.
const publicAddress6 = "2001:db8::10"

// zone is what the name server knows. "=" begins an alias.
func (w *world) zone(name string) []string {
	switch name {
	case "api.example.test", "sub.wild.test", "a.b.wild.test", "other.example.test", "wild.test":
		return []string{publicAddress}
	case "six.example.test":
		return []string{publicAddress6}
	case "two.example.test": // one address nobody answers at, one that works
		return []string{"203.0.113.11", publicAddress}
	case "mixed.example.test":
		return []string{"127.0.0.1", publicAddress}
	case "alias.example.test":
		return []string{"=internal.corp.test"}
	case "internal.corp.test":
		return []string{"10.9.8.7"}
	case "rebind.example.test":
		if w.rebinds.Add(1) == 1 {
			return []string{publicAddress}
		}
		return []string{"127.0.0.1"}
	case "loopback.example.test":
		return []string{"127.0.0.1"}
	case "metadata.example.test":
		return []string{"169.254.169.254"}
	case "mapped.example.test":
		return []string{"::ffff:169.254.169.254"}
	case "nat64.example.test":
		return []string{"64:ff9b::a9fe:a9fe"}
	case "sixtofour.example.test":
		return []string{"2002:a9fe:a9fe::1"}
	case "private.example.test":
		return []string{"10.9.8.7"}
	case "shared.example.test":
		return []string{"100.100.100.200"}
	case "multicast.example.test":
		return []string{"224.0.0.251"}
	case "self.example.test":
		return []string{"198.18.0.1"}
	}
	return nil
}

// host sets the world up and runs the tests.
func host(m *testing.M) (int, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := tun.LoopbackUp(); err != nil {
		return 1, err
	}
	for _, a := range []string{publicAddress, "10.9.8.7", "169.254.169.254", "100.100.100.200"} {
		if err := addLoopback(a); err != nil {
			return 1, fmt.Errorf("add %s: %w", a, err)
		}
	}
	if err := addLoopback6(publicAddress6); err != nil {
		return 1, fmt.Errorf("add %s: %w", publicAddress6, err)
	}
	dir, err := os.MkdirTemp("", "egress-world-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if err := theWorld.begin(ctx, dir); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// addLoopback gives the loopback interface another address.
func addLoopback(address string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	a := netip.MustParseAddr(address).As4()
	// An alias interface for each, named by the last byte.
	ifr, err := unix.NewIfreq(fmt.Sprintf("lo:%d", a[3]))
	if err != nil {
		return err
	}
	if err := ifr.SetInet4Addr(a[:]); err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFADDR, ifr); err != nil {
		return err
	}
	if err := ifr.SetInet4Addr([]byte{255, 255, 255, 255}); err != nil {
		return err
	}
	return unix.IoctlIfreq(fd, unix.SIOCSIFNETMASK, ifr)
}

// addLoopback6 is the same for IPv6 (struct in6_ifreq of linux/ipv6.h).
func addLoopback6(address string) error {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	const loopback = 1
	ifr := struct {
		address [16]byte
		prefix  uint32
		index   int32
	}{netip.MustParseAddr(address).As16(), 128, loopback}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCSIFADDR, uintptr(unsafe.Pointer(&ifr))); errno != 0 {
		return errno
	}
	return nil
}

func (w *world) begin(ctx context.Context, dir string) error {
	certificate, err := w.makeCertificates(dir)
	if err != nil {
		return err
	}
	if err := w.beginDNS(ctx); err != nil {
		return err
	}
	handler := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(rw, "hello %s %s", r.Host, r.URL.Path)
	})
	quiet := log.New(io.Discard, "", 0)
	for _, at := range []string{publicAddress + ":80", publicAddress + ":8080", "[" + publicAddress6 + "]:80"} {
		l, err := listenSoon(at)
		if err != nil {
			return err
		}
		go (&http.Server{Handler: handler, ErrorLog: quiet}).Serve(l)
	}
	secure, err := net.Listen("tcp4", publicAddress+":443")
	if err != nil {
		return err
	}
	go (&http.Server{Handler: handler, ErrorLog: quiet, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}}).ServeTLS(secure, "", "")
	return w.beginStreams(ctx)
}

// listenSoon waits for an IPv6 address to become usable, which the kernel sees
// to after it was added.
func listenSoon(at string) (l net.Listener, err error) {
	for deadline := time.Now().Add(runTimeout); time.Now().Before(deadline); {
		if l, err = net.Listen("tcp", at); !errors.Is(err, unix.EADDRNOTAVAIL) {
			return l, err
		}
	}
	return nil, err
}

// beginStreams starts the servers that count, echo, take and give.
func (w *world) beginStreams(ctx context.Context) error {
	for _, s := range []struct {
		address string
		handle  func(net.Conn)
	}{
		{publicAddress + ":7", func(c net.Conn) { defer c.Close(); io.Copy(c, c) }},
		{publicAddress + ":9", func(c net.Conn) { defer c.Close(); take(c) }},
		{publicAddress + ":19", give},
		{"127.0.0.1:80", counted(&w.loopback)},
		{"10.9.8.7:80", counted(&w.private)},
		{"169.254.169.254:80", counted(&w.metadata)},
		{"100.100.100.200:80", counted(&w.metadata)},
	} {
		l, err := net.Listen("tcp4", s.address)
		if err != nil {
			return err
		}
		go serveUntilEnd(ctx, l, s.handle)
	}
	return nil
}

// counted answers a request and counts it.
func counted(n *atomic.Int64) func(net.Conn) {
	return func(c net.Conn) {
		defer c.Close()
		n.Add(1)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\ninternal")
	}
}

// beginDNS answers over UDP on a port of its own.
func (w *world) beginDNS(ctx context.Context) error {
	c, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { c.Close() })
	w.dns = c.LocalAddr().String()
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			if answer := w.answer(buf[:n]); answer != nil {
				c.WriteTo(answer, from)
			}
		}
	}()
	return nil
}

func (w *world) answer(query []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil
	}
	m.Header.Response, m.Additionals = true, nil
	q := m.Questions[0]
	name := strings.TrimSuffix(strings.ToLower(q.Name.String()), ".")
	if q.Type == dnsmessage.TypeAAAA && name == "rebind.example.test" {
		return mustPack(m) // the two families must not count as two look-ups
	}
	values := w.zone(name)
	if values == nil {
		m.Header.RCode = dnsmessage.RCodeNameError
	}
	owner := q.Name
	for len(values) > 0 {
		next := values[0]
		values = values[1:]
		head := dnsmessage.ResourceHeader{Name: owner, Class: dnsmessage.ClassINET, TTL: 0}
		if target, alias := strings.CutPrefix(next, "="); alias {
			owner = dnsmessage.MustNewName(target + ".")
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.CNAMEResource{CNAME: owner}})
			values = w.zone(target)
			continue
		}
		a := netip.MustParseAddr(next)
		if a.Is4() && q.Type == dnsmessage.TypeA {
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: a.As4()}})
		}
		if a.Is6() && q.Type == dnsmessage.TypeAAAA {
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	return mustPack(m)
}

func mustPack(m dnsmessage.Message) []byte {
	b, err := m.Pack()
	if err != nil {
		panic(err)
	}
	return b
}

// makeCertificates makes an authority and a certificate for the listed names.
func (w *world) makeCertificates(dir string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "test"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		DNSNames:              []string{"api.example.test", "other.example.test", "*.wild.test"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	w.caFile = filepath.Join(dir, "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, os.WriteFile(w.caFile, text, 0o644)
}
