package jail

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_X86_64
	x32       = 0x40000000 // __X32_SYSCALL_BIT of asm/unistd.h
)

var deniedHere = []uint32{
	unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_KEXEC_FILE_LOAD,
}
