package tun

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// childRole names what the re-executed test does inside its new namespace.
const childRole = "TUN_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(childRole); role != "" {
		if err := runChild(role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runChild opens a device, hands it over on fd 3, and sends one datagram to an
// address that only the default route can take.
func runChild(role string) error {
	device, err := openAs(role)
	if err != nil {
		return err
	}
	if err := Send(3, device); err != nil {
		return err
	}
	c, err := net.Dial("udp4", "203.0.113.5:9")
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write([]byte("out")); err != nil {
		return err
	}
	if got := c.LocalAddr().(*net.UDPAddr).IP.String(); got != Address {
		return fmt.Errorf("local address is %s", got)
	}
	if err := sendIPv6(role != "no-ipv6"); err != nil {
		return err
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	defer l.Close()
	lc, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	lc.Close()
	// The device ends with the namespace: wait until the parent has read it.
	_, err = unix.Read(3, make([]byte, 1))
	return err
}

// sendIPv6 sends a datagram that only the IPv6 route can take, or wants there
// to be none.
func sendIPv6(there bool) error {
	c, err := net.Dial("udp6", "[2001:db8::1]:9")
	if !there {
		if err == nil {
			return errors.New("IPv6 has a route")
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer c.Close()
	want := net.IP(append(Prefix6[:], fourBytes(Address)...))
	if got := c.LocalAddr().(*net.UDPAddr).IP; !got.Equal(want) {
		return fmt.Errorf("local address is %s, want %s", got, want)
	}
	_, err = c.Write([]byte("out6"))
	return err
}

func openAs(role string) (Device, error) {
	switch role {
	case "open":
		return Open()
	case "no-ipv6":
		// Of the namespace, which is the writer's own.
		for _, of := range []string{"all", "default"} {
			if err := os.WriteFile("/proc/sys/net/ipv6/conf/"+of+"/disable_ipv6", []byte("1"), 0); err != nil {
				return Device{}, err
			}
		}
		return Open()
	}
	nl, err := dialNetlink()
	if err != nil {
		return Device{}, err
	}
	return openPacket(nl)
}

func TestOpen(t *testing.T) {
	rows := []struct {
		name, role string
		attr       *syscall.SysProcAttr
		kind       Kind
	}{
		{"as root, a TUN device", "open", inNamespace(-1, 0), KindTUN},
		{"as root, a packet socket", "packet", inNamespace(-1, 0), KindPacket},
		{"in a user namespace of root, a TUN device", "open", inNamespace(0, unix.CLONE_NEWUSER), KindTUN},
		{"in a user namespace of root, a packet socket", "packet", inNamespace(0, unix.CLONE_NEWUSER), KindPacket},
		{"as a plain user, a packet socket", "packet", inNamespace(65534, unix.CLONE_NEWUSER), KindPacket},
		{"with IPv6 switched off, a TUN device", "no-ipv6", inNamespace(-1, 0), KindTUN},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			device, end := startChild(t, row.role, row.attr)
			defer unix.Close(device.FD)
			if device.Kind != row.kind {
				t.Errorf("kind %s, want %s", device.Kind, row.kind)
			}
			if want := row.role != "no-ipv6"; device.IPv6 != want {
				t.Errorf("IPv6 %v, want %v", device.IPv6, want)
			}
			packet := firstPacket(t, device)
			if !bytes.HasSuffix(packet, []byte("out")) {
				t.Errorf("first packet % x", packet)
			}
			if device.IPv6 {
				packet = firstPacket(t, device)
			}
			if device.IPv6 && !bytes.HasSuffix(packet, []byte("out6")) {
				t.Errorf("second packet % x: the kernel sends what nobody asked for", packet)
			}
			end()
		})
	}
}

func TestOpenWithoutDeviceNode(t *testing.T) {
	if unix.Geteuid() != 0 {
		t.Fatal("run this as root: a plain user is made by changing to one")
	}
	fi, err := os.Stat(devicePath)
	if err != nil || fi.Mode().Perm()&0o006 == 0o006 {
		t.Log("every user can open the TUN device here: the kind is not asserted")
	}
	device, end := startChild(t, "open", inNamespace(65534, unix.CLONE_NEWUSER))
	defer unix.Close(device.FD)
	if err == nil && fi.Mode().Perm()&0o006 == 0 && device.Kind != KindPacket {
		t.Errorf("kind %s, want %s", device.Kind, KindPacket)
	}
	end()
}

// inNamespace is a new network namespace, in a new user namespace of uid
// unless uid is negative.
func inNamespace(uid int, flags uintptr) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | flags, Pdeathsig: unix.SIGKILL}
	if uid < 0 {
		return attr
	}
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
	attr.Credential = &syscall.Credential{}
	return attr
}

// startChild runs the role and returns its device and a function that lets it
// end and checks that it ended well.
func startChild(t *testing.T, role string, attr *syscall.SysProcAttr) (Device, func()) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "theirs")
	var stderr strings.Builder
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{childRole + "=" + role}
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Stderr = &stderr
	cmd.SysProcAttr = attr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	device, err := Receive(pair[0])
	if err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		t.Fatalf("%v; child says %q", err, stderr.String())
	}
	return device, func() {
		unix.Close(pair[0])
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, stderr.String())
		}
	}
}

// firstPacket reads one packet, within a deadline.
func firstPacket(t *testing.T, d Device) []byte {
	t.Helper()
	poll := []unix.PollFd{{Fd: int32(d.FD), Events: unix.POLLIN}}
	if n, err := unix.Poll(poll, int(10*time.Second/time.Millisecond)); n != 1 {
		t.Fatalf("no packet: %v", err)
	}
	buf := make([]byte, MTU+14)
	n, err := unix.Read(d.FD, buf)
	if err != nil {
		t.Fatal(err)
	}
	return buf[:n]
}

func TestReceiveRefuses(t *testing.T) {
	null, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	fd := int(null.Fd())
	rows := []struct {
		name string
		data string
		fds  []int
	}{
		{"an unknown code", "x", []int{fd}},
		{"a code between", "\x54\x00", []int{fd}},
		{"a kind without a descriptor", "t", nil},
		{"two descriptors", "t", []int{fd, fd}},
		{"a longer message", "tt", []int{fd}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(pair[0])
			defer unix.Close(pair[1])
			var rights []byte
			if row.fds != nil {
				rights = unix.UnixRights(row.fds...)
			}
			if err := unix.Sendmsg(pair[1], []byte(row.data), rights, nil, 0); err != nil {
				t.Fatal(err)
			}
			if d, err := Receive(pair[0]); err == nil {
				t.Errorf("accepted %+v", d)
			}
		})
	}
}

func TestReceiveTellsAnEndWithoutDevice(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	unix.Close(pair[1])
	if _, err := Receive(pair[0]); !errors.Is(err, ErrNoDevice) {
		t.Errorf("got %v", err)
	}
}

func TestCodeTellsTheDevice(t *testing.T) {
	for _, d := range []Device{{7, KindTUN, false}, {7, KindTUN, true}, {7, KindPacket, false}, {7, KindPacket, true}} {
		if got, ok := DeviceOf(d.Code(), 7); !ok || got != d {
			t.Errorf("%+v became %+v %v", d, got, ok)
		}
	}
	codes := 0
	for b := range 256 {
		if _, ok := DeviceOf(byte(b), 7); ok {
			codes++
		}
	}
	if codes != 4 {
		t.Errorf("%d bytes are codes", codes)
	}
}

func TestFourBytes(t *testing.T) {
	if got := fourBytes(Nameserver); !bytes.Equal(got, []byte{198, 18, 0, 1}) {
		t.Errorf("got %v", got)
	}
}

func FuzzAnswers(f *testing.F) {
	ack := make([]byte, 20)
	native.PutUint32(ack, 20)
	native.PutUint16(ack[4:], unix.NLMSG_ERROR)
	native.PutUint32(ack[8:], 1)
	f.Add(ack)
	f.Add(ack[:18])
	f.Add(append(bytes.Clone(ack), ack...))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, _ := answers(b, []request{{what: "test"}})
		if n > len(b)/unix.NLMSG_HDRLEN {
			t.Errorf("%d answers in %d bytes", n, len(b))
		}
	})
}
