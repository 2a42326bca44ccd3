package backend

import "time"

// age returns how long ago the mirror had all changes of the store; 0 before it has been read.
func (b *Backend) age() time.Duration {
	if b.up() != nil {
		return 0
	}
	_, heard := b.mirror.Current()
	return time.Since(heard)
}

// addresses returns where the replicas answer that are present.
func (b *Backend) addresses() []string {
	if b.up() != nil {
		return nil
	}
	var list []string
	for _, r := range b.mirror.Replicas() {
		if r.Addr != "" {
			list = append(list, r.Addr)
		}
	}
	return list
}
