package sealprobe

import (
	"fmt"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Package unix has no calls for message queues (mq_overview(7)).

func queueName(ipc int) string { return fmt.Sprintf("bellglass-probe-%d", ipc) }

func openQueue(ipc, flags int) (int, error) {
	name, err := unix.BytePtrFromString(queueName(ipc))
	if err != nil {
		return -1, err
	}
	fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(name)), uintptr(flags|unix.O_NONBLOCK|unix.O_CLOEXEC), 0o600, 0, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

func removeQueue(ipc int) {
	if name, err := unix.BytePtrFromString(queueName(ipc)); err == nil {
		unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(name)), 0, 0)
	}
}

func sendQueue(fd int, b []byte) {
	unix.Syscall6(unix.SYS_MQ_TIMEDSEND, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), 0, 0, 0)
}

// queueNative takes a message from the queue.
func queueNative(t nativeTask) (string, error) {
	ipc, err := strconv.Atoi(t.Arg)
	if err != nil {
		return "", err
	}
	fd, err := openQueue(ipc, unix.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	b := make([]byte, 64<<10) // as long as the longest that the queue takes, or more
	n, _, errno := unix.Syscall6(unix.SYS_MQ_TIMEDRECEIVE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), 0, 0, 0)
	if errno != 0 {
		return "", errno
	}
	return string(b[:n]), nil
}

func keyName(ipc int) string { return queueName(ipc) }

// keyNative looks for a key, and reads it.
func keyNative(t nativeTask) (string, error) {
	ipc, err := strconv.Atoi(t.Arg)
	if err != nil {
		return "", err
	}
	id, err := unix.KeyctlSearch(unix.KEY_SPEC_USER_KEYRING, "user", keyName(ipc), 0)
	if err != nil {
		return "", err
	}
	b := make([]byte, 200)
	n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, id, b, 0)
	return string(b[:max(0, min(n, len(b)))]), err
}
