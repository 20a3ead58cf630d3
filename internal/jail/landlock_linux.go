package jail

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights on files, by the first version of Landlock's interface (ABI) that
// knows them.
const (
	accessRead    = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	accessExecute = accessRead | unix.LANDLOCK_ACCESS_FS_EXECUTE
	accessFile    = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	accessHome    = accessRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK

	// accessAll is what a ruleset handles, and therefore refuses unless a rule
	// allows it: everything up to TRUNCATE (ABI 3), and what came later.
	accessAll4 = 1<<15 - 1
	minABI     = 4 // TCP rules, Linux 6.7
)

// portRule is struct landlock_net_port_attr of linux/landlock.h.
type portRule struct{ access, port uint64 }

const landlockRuleNetPort = 2

// landlock lays the rules: programs, libraries and settings may be read, the
// home may be written to, TCP connections go to the listeners' ports. It needs
// ABI 4; with newer ones device controls, signals and abstract unix sockets are
// closed as well. Other unix sockets, and UDP, are the filter's.
func (s *second) landlock() error {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return at("landlock_create_ruleset", errno)
	}
	if abi < minABI {
		return fmt.Errorf("its version here is %d; rules on TCP need %d (Linux 6.7)", abi, minABI)
	}
	attr := unix.LandlockRulesetAttr{
		Handled_access_fs:  accessAll4,
		Handled_access_net: unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP,
	}
	if abi >= 5 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	// Older kernels take a longer structure as long as the rest is zero.
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return at("landlock_create_ruleset", errno)
	}
	r := ruleset{int(fd)}
	defer unix.Close(r.fd)
	if err := r.files(s.c); err != nil {
		return err
	}
	for _, port := range s.c.Ports {
		rule := portRule{unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, uint64(port)}
		if err := r.add(landlockRuleNetPort, unsafe.Pointer(&rule)); err != nil {
			return at("landlock_add_rule of a port", err)
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return at("landlock_restrict_self", errno)
	}
	return nil
}

type ruleset struct{ fd int }

func (r ruleset) add(kind uintptr, rule unsafe.Pointer) error {
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), kind, uintptr(rule), 0, 0, 0)
	runtime.KeepAlive(rule)
	if errno != 0 {
		return errno
	}
	return nil
}

// files allows what the program needs of the file system.
func (r ruleset) files(c config) error {
	type grant struct {
		path   string
		access uint64
	}
	var grants []grant
	for _, p := range system {
		grants = append(grants, grant{p, accessExecute})
	}
	for _, p := range settings {
		grants = append(grants, grant{p, accessRead})
	}
	for _, p := range devices {
		grants = append(grants, grant{p, accessFile})
	}
	program := c.Path
	if _, err := os.Stat(filepath.Join(filepath.Dir(program), "icudtl.dat")); err == nil {
		program = filepath.Dir(program)
	}
	grants = append(grants,
		grant{program, accessExecute},
		// Its own entries are written to by Chromium's sandbox. Those of
		// processes outside of the rules cannot be looked into.
		grant{"/proc", accessRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE},
		grant{c.Home, accessHome})
	for _, g := range grants {
		if g.path == "" {
			continue // a trial: nothing is executed
		}
		if err := r.allow(g.path, g.access); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return at("landlock_add_rule of "+g.path, err)
		}
	}
	return nil
}

func (r ruleset) allow(path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR { // rights on folders are refused for files
		access &= accessFile | unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	return r.add(unix.LANDLOCK_RULE_PATH_BENEATH, unsafe.Pointer(&rule))
}
