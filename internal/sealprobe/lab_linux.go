package sealprobe

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bellglass/bellglass/internal/chrome"
	"github.com/bellglass/bellglass/internal/netns"
)

// ownBinary is where the program is in the lab, because the folder that it was
// started from may be covered.
const ownBinary = "/mnt/bellglass"

// mountName marks what the lab has mounted.
const mountName = "bellglass-sealprobe"

// covered are the folders that are empty and private in the lab, so that the
// sentinels in them touch nothing of the machine's. A browser's own folder is
// left alone.
var covered = []string{"/mnt", "/run", "/srv", "/home", "/root", "/dev/shm", "/tmp"}

// Enter makes the lab; see [netns.Enter].
func Enter(bin chrome.Binary) (lab *netns.Lab, code int, done bool, err error) {
	return netns.Enter(netns.Options{Prepare: func() error { return prepare(bin) }})
}

// prepare covers folders, and lets this user open ping sockets as most systems
// do.
func prepare(bin chrome.Binary) error {
	program, err := filepath.EvalSymlinks(bin.Path)
	if err != nil {
		return err
	}
	for _, dir := range covered {
		if strings.HasPrefix(program, dir+"/") {
			continue
		}
		if err := coverFolder(dir); err != nil {
			return err
		}
		if dir != "/mnt" {
			continue
		}
		if err := copySelf(); err != nil {
			return err
		}
	}
	// Per network namespace; without it only root may have ping sockets.
	return ignoreAbsent(os.WriteFile("/proc/sys/net/ipv4/ping_group_range", fmt.Appendf(nil, "%d %d", os.Getgid(), os.Getgid()), 0o644))
}

// copySelf copies this program. It cannot be bound, because what runs is the
// file of the mount namespace that it was started in.
func copySelf() error {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer self.Close()
	f, err := os.OpenFile(ownBinary, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, self)
	return errors.Join(err, f.Close())
}

func ignoreAbsent(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func coverFolder(dir string) error {
	mode := "0755"
	if dir == "/tmp" || dir == "/dev/shm" {
		mode = "1777"
	}
	data := fmt.Sprintf("mode=%s,uid=%d,gid=%d", mode, os.Getuid(), os.Getgid())
	err := unix.Mount(mountName, dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, data)
	if errors.Is(err, unix.ENOENT) {
		return nil // this system has no such folder
	}
	if err != nil {
		return fmt.Errorf("mount(tmpfs) over %s: %w", dir, err)
	}
	return nil
}

// coveredHere are the folders that this process finds covered.
func coveredHere() ([]string, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var dirs []string
	for line := range strings.Lines(string(table)) {
		// id parent major:minor root mountpoint options … - type source …
		before, after, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if ok && len(f) > 4 && len(g) > 1 && g[1] == mountName {
			dirs = append(dirs, f[4])
		}
	}
	return dirs, nil
}

// inCovered says whether a path lies where the lab may write.
func inCovered(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return strings.HasPrefix(path, d+"/") })
}
