package chrome

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A profile folder is named bellglass-profile-XXXXXXXX, mode 0700, and holds a
// file "owner.lock" that its maker keeps locked (flock) for as long as it
// lives. The kernel drops the lock with the process, however it ended, so that
// whoever can take the lock knows the folder is nobody's.
const (
	profilePrefix = "bellglass-profile-"
	lockName      = "owner.lock"
)

type profile struct {
	dir  string
	lock *os.File
}

func newProfile(root string) (*profile, error) {
	if root == "" {
		root = os.TempDir()
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(root, profilePrefix) // 0700
	if err != nil {
		return nil, err
	}
	lock, err := takeLock(filepath.Join(dir, lockName), os.O_CREATE|os.O_EXCL)
	if err != nil { // removing a tree takes a descriptor, of which there may be none
		os.Remove(filepath.Join(dir, lockName))
		os.Remove(dir)
		return nil, err
	}
	return &profile{dir: dir, lock: lock}, nil
}

// takeLock opens the file, never through a link, and locks it or fails at once.
func takeLock(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW|flag, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// remove deletes the folder. Processes that were just killed may still be
// writing their last files, hence the second and third try; the last one has the
// lock's descriptor, where there is no other, and needs none if that file is all
// there is.
func (p *profile) remove() error {
	defer p.lock.Close()
	var err error
	for range 3 {
		if err = os.RemoveAll(p.dir); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.lock.Close()
	os.Remove(filepath.Join(p.dir, lockName))
	return os.RemoveAll(p.dir)
}

// Sweep removes the profiles below root (if empty, the system's folder for
// temporary files) that belong to this user and whose maker is dead, and
// returns how many. A folder that is in use, somebody else's, or not quite what
// this package makes is left alone.
func Sweep(root string) (int, error) {
	if root == "" {
		root = os.TempDir()
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return 0, err
	}
	n := 0
	var errs []error
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), profilePrefix) || !e.IsDir() {
			continue
		}
		dir := filepath.Join(root, e.Name())
		info, err := e.Info()
		if err != nil || !ownedByUs(info) {
			continue
		}
		lock, err := takeLock(filepath.Join(dir, lockName), 0)
		if errors.Is(err, os.ErrNotExist) && time.Since(info.ModTime()) > time.Minute {
			// Its maker died between making the folder and the lock, or its
			// removal was cut short. A younger one may be about to be locked.
			lock, err = nil, nil
		}
		if err != nil {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			errs = append(errs, err)
		} else {
			n++
		}
		if lock != nil {
			lock.Close()
		}
	}
	return n, errors.Join(errs...)
}

func ownedByUs(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}
