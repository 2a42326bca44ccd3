package failure

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
)

func TestAFullDiskIsNoMistakeOfTheSettings(t *testing.T) {
	full := &os.PathError{Op: "mkdir", Path: "/data", Err: syscall.ENOSPC}
	for err, want := range map[error]bool{
		Config(fmt.Errorf("make node.data_dir: %w", full)): false,
		Config(errors.New("node.data_dir is a file")):      true,
		Place(full): false,
		Place(&os.PathError{Op: "open", Err: syscall.EROFS}):      true,
		fmt.Errorf("serve: %w", Config(errors.New("no address"))): true,
	} {
		if got := IsConfig(err); got != want {
			t.Errorf("%v: IsConfig is %t, want %t", err, got, want)
		}
	}
}
