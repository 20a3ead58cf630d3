package jail

import (
	"errors"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// denied are system calls that a browser does not make, and that are ways to
// more privilege, to other processes, or around what this package sets up.
// Chromium's own sandbox needs clone, unshare, chroot and setresuid, which stay.
// io_uring would do what the rules on sockets below refuse; the keyrings and
// the perf and bpf interfaces are parts of the kernel with many holes behind
// them.
var denied = append([]uint32{
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
	unix.SYS_OPEN_TREE_ATTR, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
	unix.SYS_MOUNT_SETATTR, unix.SYS_SETNS,
	unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
	unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
	unix.SYS_SYSLOG, unix.SYS_VHANGUP, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_NFSSERVCTL,
	// System V's and POSIX's shared memory and queues, which at level landlock
	// would be those of the machine.
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
}, deniedHere...)

// Offsets in struct seccomp_data (linux/seccomp.h); arguments are 64 bits wide,
// and both architectures are little-endian.
const (
	offNumber = 0
	offArch   = 4
	offArg0   = 16
	offArg1   = 24
	offArg2   = 32
	offArg3   = 40
)

const (
	retAllow = unix.SECCOMP_RET_ALLOW
	retDeny  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
)

// filter installs the filter of system calls. Sockets are:
//
//	               kernel                        landlock
//	unix           all                           pairs only
//	internet       TCP, UDP                      TCP
//	netlink        all                           all
//	anything else  none                          none
//
// At level kernel the network holds nothing but the listeners; what is refused
// there are families that no network namespace contains, such as vsock, and
// parts of the kernel that a browser has no use for. At level landlock, whose
// rules know neither UDP nor multipath TCP nor TCP Fast Open nor unix sockets by
// path, the filter closes what they leave open.
func (s *second) filter() error {
	if auditArch == 0 {
		if s.level == Landlock {
			return errors.New("no system call filter for " + runtime.GOARCH)
		}
		return nil // the namespaces hold alone
	}
	prog := socketProgram(s.level)
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	// SPEC_ALLOW: older kernels would otherwise slow the program down to guard
	// it against itself.
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(prog)
	if errno != 0 {
		return errno
	}
	return nil
}

// assembler builds a classic BPF program.
type assembler struct{ prog []unix.SockFilter }

func (a *assembler) add(code uint16, k uint32, jt, jf uint8) {
	a.prog = append(a.prog, unix.SockFilter{Code: code, Jt: jt, Jf: jf, K: k})
}

func (a *assembler) load(offset uint32) { a.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }
func (a *assembler) ret(action uint32)  { a.add(unix.BPF_RET|unix.BPF_K, action, 0, 0) }

// ifEqual runs the next n instructions only if the loaded value is k.
func (a *assembler) ifEqual(k uint32, n int) {
	a.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, 0, uint8(n))
}

// when runs body if the loaded value is k.
func (a *assembler) when(k uint32, body func()) {
	at := len(a.prog)
	a.ifEqual(k, 0)
	body()
	a.prog[at].Jf = uint8(len(a.prog) - at - 1)
}

func socketProgram(level Level) []unix.SockFilter {
	a := &assembler{}
	a.load(offArch)
	a.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, auditArch, 1, 0)
	a.ret(retDeny) // 32-bit programs
	a.load(offNumber)
	if x32 != 0 {
		a.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, x32, 0, 1)
		a.ret(retDeny)
	}
	for _, nr := range denied {
		a.when(nr, func() { a.ret(retDeny) })
	}
	// TCP Fast Open connects without connect, and Landlock does not see it
	// (measured on Linux 6.18).
	for _, send := range []struct{ nr, flags uint32 }{
		{unix.SYS_SENDTO, offArg3}, {unix.SYS_SENDMSG, offArg2}, {unix.SYS_SENDMMSG, offArg3},
	} {
		a.when(send.nr, func() {
			a.load(send.flags)
			a.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, unix.MSG_FASTOPEN, 0, 1)
			a.ret(retDeny)
			a.ret(retAllow)
		})
	}
	a.when(unix.SYS_SOCKET, func() {
		a.load(offArg0)
		if level == Kernel {
			a.when(unix.AF_UNIX, func() { a.ret(retAllow) })
		}
		a.when(unix.AF_NETLINK, func() { a.ret(retAllow) })
		for _, family := range []uint32{unix.AF_INET, unix.AF_INET6} {
			a.when(family, func() {
				a.load(offArg1)
				a.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, 0xf, 0, 0) // without SOCK_CLOEXEC and SOCK_NONBLOCK
				if level == Kernel {
					a.when(unix.SOCK_DGRAM, func() { a.internetProtocol(unix.IPPROTO_UDP) })
				}
				a.when(unix.SOCK_STREAM, func() { a.internetProtocol(unix.IPPROTO_TCP) })
				a.ret(retDeny)
			})
		}
		a.ret(retDeny)
	})
	a.ret(retAllow)
	return a.prog
}

// internetProtocol allows a socket of the default protocol of its type, or of
// that protocol by name.
func (a *assembler) internetProtocol(p uint32) {
	a.load(offArg2)
	a.when(0, func() { a.ret(retAllow) })
	a.when(p, func() { a.ret(retAllow) })
	a.ret(retDeny)
}
