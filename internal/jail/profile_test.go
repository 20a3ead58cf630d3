//go:build linux && (amd64 || arm64)

package jail

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// containerProfile is deploy/seccomp.json, as far as it is used.
type containerProfile struct {
	DefaultAction string
	Syscalls      []struct {
		Names  []string
		Action string
		Args   []struct {
			Index int
			Value uint64
			Op    string
		}
	}
}

func init() { roles["profile"] = underProfile }

func readProfile(t *testing.T) containerProfile {
	t.Helper()
	b, err := os.ReadFile("../../deploy/seccomp.json")
	if err != nil {
		t.Fatal(err)
	}
	var p containerProfile
	if err := json.Unmarshal(b, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestContainerProfile: the profile that is shipped for containers allows what
// the jail is made of, and not what is a way around it.
func TestContainerProfile(t *testing.T) {
	p := readProfile(t)
	if p.DefaultAction != "SCMP_ACT_ERRNO" || len(p.Syscalls) != 2 {
		t.Fatalf("it is no list of what is allowed: %s, %d rules", p.DefaultAction, len(p.Syscalls))
	}
	allowed := p.Syscalls[0].Names
	for _, name := range []string{"clone", "clone3", "unshare", "mount", "mount_setattr", "pivot_root", "umount2", "sethostname", "seccomp",
		"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "chroot", "capset", "prctl", "execve"} {
		if !slices.Contains(allowed, name) {
			t.Errorf("%s is not allowed", name)
		}
	}
	for _, name := range []string{"bpf", "kexec_load", "init_module", "finit_module", "perf_event_open", "userfaultfd", "io_uring_setup",
		"keyctl", "add_key", "ptrace", "open_by_handle_at", "reboot", "setns", "socket"} {
		if slices.Contains(allowed, name) {
			t.Errorf("%s is allowed", name)
		}
	}
	if a := p.Syscalls[1]; !slices.Equal(a.Names, []string{"socket"}) || len(a.Args) != 1 || a.Args[0].Value != unix.AF_VSOCK || a.Args[0].Op != "SCMP_CMP_NE" {
		t.Errorf("sockets: %+v", a)
	}
}

// underProfile lays the profile, given in the environment as numbers, around
// this process and makes a jail of each level in it.
func underProfile() {
	var numbers []uint32
	if err := json.Unmarshal([]byte(os.Getenv("BELLGLASS_JAIL_NUMBERS")), &numbers); err != nil {
		fmt.Println(err)
		return
	}
	a := &assembler{}
	a.load(offNumber)
	for _, nr := range numbers {
		a.when(nr, func() { a.ret(retAllow) })
	}
	a.ret(retDeny)
	fprog := unix.SockFprog{Len: uint16(len(a.prog)), Filter: &a.prog[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		fmt.Println(err)
		return
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(a)
	fmt.Println("filter:", errno)
	for _, l := range []Level{Kernel, Landlock} {
		fmt.Printf("%s: %v\n", l, Try(contextOf(), l))
	}
}

// TestJailsUnderTheContainerProfile runs under that profile for real, without a
// container.
func TestJailsUnderTheContainerProfile(t *testing.T) {
	need(t, Kernel)
	need(t, Landlock)
	p := readProfile(t)
	var numbers []uint32
	known := syscallNumbers(t)
	for _, name := range append(p.Syscalls[0].Names, "socket") {
		if nr, ok := known[name]; ok {
			numbers = append(numbers, nr)
		}
	}
	if len(numbers) < 250 {
		t.Fatalf("only %d of the names are known here", len(numbers))
	}
	b, _ := json.Marshal(numbers)
	cmd := exec.Command(Self)
	cmd.Env = []string{"PATH=/usr/bin:/bin", roleEnv + "=profile", "BELLGLASS_JAIL_NUMBERS=" + string(b)}
	out, err := cmd.CombinedOutput()
	if want := "filter: errno 0\nkernel: <nil>\nlandlock: <nil>\n"; err != nil || string(out) != want {
		t.Errorf("%v\n%s", err, out)
	}
}

// syscallNumbers reads the table of golang.org/x/sys/unix.
func syscallNumbers(t *testing.T) map[string]uint32 {
	t.Helper()
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "golang.org/x/sys/unix").Output()
	if err != nil {
		t.Skip("needs the go command:", err)
	}
	b, err := os.ReadFile(strings.TrimSpace(string(dir)) + "/zsysnum_linux_" + runtime.GOARCH + ".go")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]uint32{}
	for line := range strings.Lines(string(b)) {
		var name string
		var nr uint32
		if n, _ := fmt.Sscanf(strings.TrimSpace(line), "SYS_%s = %d", &name, &nr); n == 2 {
			all[strings.ToLower(name)] = nr
		}
	}
	return all
}
