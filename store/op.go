package store

import (
	"strconv"
	"sync/atomic"
)

// ops numbers the writes of one process. Ids are unique because the process's own part is.
type ops struct {
	process string
	n       atomic.Int64
}

func (o *ops) next() string { return o.process + "-" + strconv.FormatInt(o.n.Add(1), 36) }
