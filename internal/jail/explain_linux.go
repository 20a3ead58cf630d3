package jail

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// host is what of the machine decides which fix is the right one.
type host struct {
	read      func(path string) string // the file without white space around it, "" if there is none
	getenv    func(string) string
	euid      int
	distro    string // ID and ID_LIKE of os-release
	container string // "Docker", "Kubernetes", "podman", "a container" or ""
	wsl       bool
}

func readTrimmed(path string) string {
	b, _ := os.ReadFile(path)
	return strings.TrimSpace(string(b))
}

func thisHost(read func(string) string, getenv func(string) string, euid int) host {
	h := host{read: read, getenv: getenv, euid: euid}
	for line := range strings.Lines(read("/etc/os-release")) {
		for _, key := range []string{"ID=", "ID_LIKE="} {
			if v, ok := strings.CutPrefix(line, key); ok {
				h.distro += strings.Trim(strings.TrimSpace(v), `"`) + " "
			}
		}
	}
	h.wsl = strings.Contains(strings.ToLower(read("/proc/version")), "microsoft")
	one := read("/proc/1/cgroup") + read("/proc/self/mountinfo")
	switch {
	case getenv("KUBERNETES_SERVICE_HOST") != "":
		h.container = "Kubernetes"
	case exists("/.dockerenv"):
		h.container = "Docker"
	case exists("/run/.containerenv"):
		h.container = "podman"
	case strings.Contains(one, "/docker/") || strings.Contains(one, "/containerd/"):
		h.container = "a container"
	}
	return h
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// explain fills in what is in the way and how to mend it.
func (e *Error) explain() {
	if e.Cause == "" && e.Fix == "" {
		e.Cause, e.Fix = thisHost(readTrimmed, os.Getenv, os.Geteuid()).explain(e)
	}
}

// A setting that forbids user namespaces, and how it is changed.
var settingsOfNamespaces = []struct{ file, bad, name, fix string }{
	{"/proc/sys/user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=0",
		"sudo sysctl -w user.max_user_namespaces=15000 (and a line in /etc/sysctl.d to keep it)"},
	{"/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=0 (Debian's patch)",
		"sudo sysctl -w kernel.unprivileged_userns_clone=1 (and a line in /etc/sysctl.d to keep it)"},
	{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor: sysctl kernel.apparmor_restrict_unprivileged_userns=1 (Ubuntu 23.10 and later)",
		"install deploy/bellglass.apparmor as /etc/apparmor.d/bellglass with the path of the program in it and run: sudo apparmor_parser -r /etc/apparmor.d/bellglass; or for the whole machine: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
}

func (h host) explain(e *Error) (cause, fix string) {
	if e.Errno == syscall.EACCES && strings.HasPrefix(e.Step, "clone") && h.euid == 0 {
		return "the program's file, which the jail's user may not execute",
			"chmod o+rx the program and the folders above it: as root the browser runs as a user that owns nothing"
	}
	if strings.HasPrefix(e.Step, "execve") {
		return "the browser's file or folder, which the jail's user may not read or execute",
			"install the browser where every user can reach it (/usr, /opt), or make it and its folder readable and executable for others"
	}
	if e.Level == Landlock {
		return h.explainLandlock(e)
	}
	switch e.Errno {
	case syscall.EPERM, syscall.EACCES, syscall.ENOSPC, syscall.EUSERS, syscall.ENOSYS, syscall.EINVAL:
	default:
		return "", "" // no refusal
	}
	for _, s := range settingsOfNamespaces {
		if h.read(s.file) == s.bad && (h.euid != 0 || s.bad == "0") {
			return s.name, s.fix
		}
	}
	if e.Errno == syscall.ENOSYS || e.Errno == syscall.EINVAL {
		return "this kernel (" + h.read("/proc/sys/kernel/osrelease") + ")",
			"the jail needs Linux 5.12 or later with user, network, pid and mount namespaces"
	}
	if h.container != "" {
		return h.explainContainer(e)
	}
	if h.filtered() {
		return "a seccomp filter that this process runs under", "let it pass clone and unshare with CLONE_NEW…, mount, mount_setattr, pivot_root and umount2; deploy/seccomp.json does"
	}
	if h.wsl {
		return "the kernel of WSL 1, which has no namespaces", "use WSL 2: wsl --set-version <distribution> 2"
	}
	return "", "allow user namespaces to this user; on Debian, Ubuntu and Fedora they are, unless a sysctl (user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns) or a security policy says otherwise"
}

// filtered reports whether this process runs under a filter of system calls.
func (h host) filtered() bool {
	return strings.Contains(h.read("/proc/self/status"), "Seccomp:\t2")
}

// explainContainer tells the three things that container runtimes put in the
// way apart: the filter, AppArmor's profile, and the masks over /proc.
func (h host) explainContainer(e *Error) (cause, fix string) {
	proc := strings.Contains(e.Step, "mount proc")
	switch {
	case proc:
		cause = "the runtime's masks over /proc"
	case h.filtered():
		cause = "the runtime's seccomp profile"
	default:
		cause = "the runtime's AppArmor or SELinux policy"
	}
	switch h.container {
	case "Kubernetes":
		return cause, "in the container's securityContext: seccompProfile {type: Localhost, localhostProfile: bellglass.json} (deploy/seccomp.json, put into the kubelet's seccomp folder), appArmorProfile {type: Unconfined}, procMount: Unmasked, which needs hostUsers: false in the pod"
	case "podman":
		return cause, "podman run --security-opt seccomp=deploy/seccomp.json --security-opt unmask=ALL"
	}
	return cause, "docker run --security-opt seccomp=deploy/seccomp.json --security-opt apparmor=unconfined --security-opt systempaths=unconfined"
}

func (h host) explainLandlock(e *Error) (cause, fix string) {
	switch {
	case e.Errno == syscall.EACCES && h.euid == 0:
		return "the folder for temporary files, which the jail's user may not enter", "let TMPDIR name a folder that every user may enter, such as /tmp: as root the browser runs as a user that owns nothing"
	case e.Errno == syscall.EOPNOTSUPP:
		return "Landlock is compiled in but not among the active security modules (" + h.read("/sys/kernel/security/lsm") + ")",
			"boot with lsm=landlock,… (the list of /sys/kernel/security/lsm with landlock before it)"
	case e.Errno == syscall.EPERM && h.container != "":
		return "the runtime's seccomp profile", "use a profile that lets landlock_create_ruleset, landlock_add_rule and landlock_restrict_self pass, such as deploy/seccomp.json"
	case e.Errno == syscall.ENOSYS, strings.Contains(e.Text, "version here"):
		return "this kernel (" + h.read("/proc/sys/kernel/osrelease") + ")", "level landlock needs Linux 6.7 or later with CONFIG_SECURITY_LANDLOCK"
	}
	return "", fmt.Sprintf("level landlock needs Linux 6.7 or later with Landlock active; here the step %q failed", e.Step)
}
