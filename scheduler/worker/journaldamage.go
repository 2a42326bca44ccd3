package worker

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// ErrDamaged is returned by OpenJournal if the file was truncated or overwritten. No later process can open it either.
var ErrDamaged = errors.New("the file is damaged")

// openIntact opens the database in a file and reads all of it. Otherwise damage would end the process later, at each start again.
func openIntact(path string) (db *bolt.DB, err error) {
	if err := readFile(path); err != nil {
		return nil, fmt.Errorf("%w (repair the disk; without this file, the outcomes in it are lost)", err)
	}
	err = findDamage(func() (err error) {
		db, err = bolt.Open(path, 0o600, &bolt.Options{
			Timeout: journalLockTimeout, FreelistType: bolt.FreelistMapType, PageSize: journalPage,
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, check := range []func(*bolt.Tx) error{readAll, checkFree} {
		if err := findDamage(func() error { return db.View(check) }); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return db, nil
}

// readFile reads a whole file, if it is one. A disk that does not read it would look like damage to bbolt.
func readFile(path string) error {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil //nolint:nilerr // bbolt reports the error, if there is one
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, io.NewSectionReader(f, 0, math.MaxInt64))
	return err
}

// findDamage calls do, and returns ErrDamaged if bbolt finds damage: it panics then, or accesses memory beyond the end of the file.
func findDamage(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, why)
		}
	}()
	if err = do(); errors.Is(err, bolterrors.ErrInvalid) || errors.Is(err, bolterrors.ErrChecksum) {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

// readAll reads each byte of each entry.
func readAll(tx *bolt.Tx) error {
	return tx.ForEach(func(_ []byte, b *bolt.Bucket) error {
		return b.ForEach(func(key, value []byte) error {
			_ = crc32.ChecksumIEEE(key) + crc32.ChecksumIEEE(value)
			return nil
		})
	})
}

// checkFree returns ErrDamaged if the list of free pages names a page that does not exist, or names one twice. bbolt would find
// that at the next change only. A list that lacks pages is harmless. A list that names a page in use instead of a free one is not
// found.
func checkFree(tx *bolt.Tx) error {
	free := 0
	for id := range int(tx.Size()) / tx.DB().Info().PageSize {
		p, err := tx.Page(id)
		if err != nil {
			return err
		}
		if p.Type == "free" {
			free++
		}
	}
	if listed := tx.DB().Stats().FreePageN; free != listed {
		return fmt.Errorf("%w: it lists %d free pages, of which it has %d", ErrDamaged, listed, free)
	}
	return nil
}

// SetAside renames a damaged journal, so that OpenJournal makes a new one. It returns the new name. The outcomes in the file are
// lost, as on a lost disk. Nobody reads the file again.
func SetAside(path string, now time.Time) (to string, err error) {
	to = path + ".damaged-" + now.UTC().Format("20060102T150405.000")
	if err := os.Rename(path, to); err != nil {
		return "", fmt.Errorf("set the journal aside: %w", err)
	}
	return to, nil
}
