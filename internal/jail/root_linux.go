package jail

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// system is what every program may need of the machine: programs, libraries,
// fonts. Symbolic links among them are copied as links.
var system = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
	"/nix/store", "/gnu/store",
	"/var/cache/fontconfig",
}

// settings are the files and folders of /etc that hold no secret and that a
// browser, its libraries or the dynamic linker read.
var settings = []string{
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime",
	"/etc/fonts", "/etc/ssl/certs", "/etc/pki/ca-trust", "/etc/crypto-policies",
	"/etc/chromium", "/etc/chromium-browser", "/etc/opt/chrome", "/etc/opt/edge",
}

// written are files made for the jail. Without a name server, and with no
// source of names but this file, a look-up fails at once and sends nothing.
var written = map[string]string{
	"/etc/passwd":        "bellglass:x:1000:1000::" + Home + ":/usr/sbin/nologin\n",
	"/etc/group":         "bellglass:x:1000:\n",
	"/etc/hosts":         "127.0.0.1 localhost\n::1 localhost\n",
	"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}

var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// private are the folders in memory, with the most bytes of each.
var private = []struct{ path, options string }{
	{"/tmp", "mode=0700,size=256m,nr_inodes=64k"},
	{Home, "mode=0700,size=512m,nr_inodes=64k"},
	{"/dev/shm", "mode=0700,size=1g,nr_inodes=64k"},
}

const quiet = unix.MS_NOSUID | unix.MS_NODEV

// buildRoot makes a new root in memory, shows in it what is listed above,
// read-only, and leaves the old one.
func (s *second) buildRoot() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return at("make mounts private", err)
	}
	base := ""
	for _, dir := range []string{"/sys", "/boot", "/media", "/srv", "/mnt"} { // nothing of these is shown
		if st, err := os.Lstat(dir); err == nil && st.IsDir() {
			base = dir
			break
		}
	}
	if base == "" {
		return errors.New("no folder to mount the new root on")
	}
	if err := unix.Mount("tmpfs", base, "tmpfs", quiet, "mode=0755,size=4m,nr_inodes=4k"); err != nil {
		return at("mount tmpfs", err)
	}
	r := root{base}
	program := r.program(s.c.Path)
	late := inPrivate(program)
	steps := []func() error{r.showSystem, func() error { return r.showProgram(program) }, r.makeFiles, r.seal, r.open, r.enter}
	if late { // its place comes to be when the folders in memory are mounted
		steps = []func() error{r.showSystem, r.makeFiles, r.seal, r.open, func() error { return r.showProgram(program) }, r.enter}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// inPrivate reports whether a path is below a folder in memory.
func inPrivate(p string) bool {
	for _, dir := range private {
		if strings.HasPrefix(p, dir.path+"/") {
			return true
		}
	}
	return false
}

// root is the new root while it is being built.
type root struct{ base string }

// path returns where a path of the new root is now.
func (r root) path(p string) string { return r.base + p }

func (r root) showSystem() error {
	for _, p := range append(append([]string(nil), system...), settings...) {
		if err := r.show(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// show binds a file or a folder with all that is mounted below it.
func (r root) show(p string) error {
	st, err := os.Lstat(p)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(r.path(p)), 0o755); err != nil {
		return err
	}
	switch {
	case st.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(p)
		if err != nil {
			return err
		}
		return os.Symlink(to, r.path(p))
	case st.IsDir():
		err = os.Mkdir(r.path(p), 0o755)
	default:
		err = os.WriteFile(r.path(p), nil, 0o644)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return at("bind "+p, unix.Mount(p, r.path(p), "", unix.MS_BIND|unix.MS_REC, ""))
}

// program returns what of a program is to be shown, beside what all programs
// see: its folder if it is that of a Chromium, which needs what lies beside it;
// else the file alone; "" if nothing.
func (r root) program(p string) string {
	if p == "" || p == Self { // nothing will be executed, or what needs no path
		return ""
	}
	for _, dir := range system {
		if st, err := os.Lstat(dir); err == nil && st.IsDir() && strings.HasPrefix(p, dir+"/") {
			return ""
		}
	}
	if dir := filepath.Dir(p); dir != "/" {
		if _, err := os.Lstat(filepath.Join(dir, "icudtl.dat")); err == nil {
			return dir
		}
	}
	return p
}

func (r root) showProgram(p string) error {
	if p == "" {
		return nil
	}
	if err := r.show(p); err != nil {
		return at(p, err)
	}
	return readOnly(r.path(p))
}

func (r root) makeFiles() error {
	for p, text := range written {
		if err := os.MkdirAll(filepath.Dir(r.path(p)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(r.path(p), []byte(text), 0o444); err != nil {
			return err
		}
	}
	for _, dir := range []string{"/proc", "/dev", "/tmp", Home, "/dev/shm"} {
		if err := os.Mkdir(r.path(dir), 0o755); err != nil {
			return err
		}
	}
	for _, dev := range devices {
		if err := os.WriteFile(r.path(dev), nil, 0o644); err != nil {
			return err
		}
	}
	for name, to := range map[string]string{"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"} {
		if err := os.Symlink("/proc/self/fd"+to, r.path("/dev/"+name)); err != nil {
			return err
		}
	}
	return nil
}

// seal makes everything that is mounted so far read-only.
func (r root) seal() error { return readOnly(r.base) }

// readOnly makes a mount and all below it read-only, in one call.
func readOnly(path string) error {
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	return at("mount_setattr", unix.MountSetattr(unix.AT_FDCWD, path, unix.AT_RECURSIVE, &attr))
}

// open mounts what is not read-only.
func (r root) open() error {
	for _, dev := range devices {
		if err := unix.Mount(dev, r.path(dev), "", unix.MS_BIND, ""); err != nil {
			return at("bind "+dev, err)
		}
	}
	for _, dir := range private {
		if err := unix.Mount("tmpfs", r.path(dir.path), "tmpfs", quiet, dir.options); err != nil {
			return at("mount tmpfs", err)
		}
	}
	return at("mount proc", unix.Mount("proc", r.path("/proc"), "proc", quiet|unix.MS_NOEXEC, ""))
}

// enter makes the new root the root, and drops the old one.
func (r root) enter() error {
	if err := os.Chdir(r.base); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil { // the old root now lies on top of the new
		return at("pivot_root", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return at("umount of the old root", err)
	}
	return os.Chdir("/")
}
