package ui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	// atOnce bounds the pages that are being made: each reads every skill.
	atOnce = 4
	// lookWait bounds the reading of skills and the helper's answers.
	lookWait = 30 * time.Second
	// doctorWait bounds the wait for the doctor, who needs five seconds.
	doctorWait = 60 * time.Second
	// endWait is how long a page may still take when the server ends.
	endWait = time.Second
)

// Handler answers with the page.
type Handler struct {
	access access
	source Source
	t      templates
	csp    string
	log    *slog.Logger
	places chan struct{} // one token for each page that is being made
	turn   chan struct{} // holds one token: who has it may ask the source
}

// New makes the handler for a listener bound to addr, a loopback address.
func New(addr net.Addr, token string, source Source, log *slog.Logger) (*Handler, error) {
	t, err := parse()
	if err != nil {
		return nil, fmt.Errorf("read the page's template: %w", err)
	}
	a, err := newAccess(addr, token)
	if err != nil {
		return nil, err
	}
	h := &Handler{
		access: a, source: source, t: t, csp: policyOf(t.style), log: log,
		places: make(chan struct{}, atOnce), turn: make(chan struct{}, 1),
	}
	return h, nil
}

// ServeHTTP answers one request. The answer comes in two parts, the second when
// the doctor is done, so that a page is there at once and needs no script.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.headers(w)
	if no := h.access.check(r); no != nil {
		if no.status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", "GET, HEAD")
		}
		http.Error(w, no.text, no.status)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if r.Method == http.MethodHead {
		return
	}
	select {
	case h.places <- struct{}{}:
		defer func() { <-h.places }()
	default:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "other readers are being answered; try again in a second", http.StatusServiceUnavailable)
		return
	}
	if err := h.page(r.Context(), w); err != nil && r.Context().Err() == nil {
		h.log.Error("the page is not whole", "error", err)
	}
}

// headers keep the page to itself: it is stored nowhere, framed by nobody, says
// its address to nobody, runs nothing and loads nothing.
func (h *Handler) headers(w http.ResponseWriter) {
	for name, value := range map[string]string{
		"Content-Security-Policy":      h.csp,
		"X-Content-Type-Options":       "nosniff",
		"Referrer-Policy":              "no-referrer",
		"Cache-Control":                "no-store",
		"X-Frame-Options":              "DENY",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
	} {
		w.Header().Set(name, value)
	}
}

// page writes both parts.
func (h *Handler) page(ctx context.Context, w http.ResponseWriter) error {
	facts, err := h.look(ctx)
	if err != nil {
		http.Error(w, "the skills could not be read: "+err.Error(), http.StatusInternalServerError)
		return err
	}
	if err := h.write(w, "top", newTop(facts, h.t.style)); err != nil {
		return err
	}
	if err := http.NewResponseController(w).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, doctorWait)
	defer cancel()
	e, err := h.source.Doctor(ctx)
	if err != nil {
		e.Note = "The doctor could not examine this machine: " + err.Error()
	}
	return h.write(w, "rest", e)
}

// look asks the source, one request at a time.
func (h *Handler) look(ctx context.Context) (Facts, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWait)
	defer cancel()
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return Facts{}, ctx.Err()
	}
	return h.source.Look(ctx)
}

// write renders a whole part before its first byte goes out.
func (h *Handler) write(w io.Writer, part string, data any) error {
	var b bytes.Buffer
	if err := h.t.all.ExecuteTemplate(&b, part, data); err != nil {
		return fmt.Errorf("render the page: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// Serve answers on ln until ctx ends. It closes ln.
func (h *Handler) Serve(ctx context.Context, ln net.Listener) error {
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: lookWait + doctorWait + 30*time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog:    slog.NewLogLogger(h.log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(ln) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve the page: %w", err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWait)
	defer cancel()
	if s.Shutdown(end) != nil {
		_ = s.Close() // whoever is still reading is cut off
	}
	<-failed
	return nil
}
