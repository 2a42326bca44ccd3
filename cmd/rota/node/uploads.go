package node

import (
	"context"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor/output"
	"github.com/rota-scheduler/rota/scheduler/worker"
)

// outputStore returns the store that keeps output beyond its worker; nil if there is none.
func (n *Node) outputStore() (output.Store, error) {
	bucket, ok, err := n.set.Output.Bucket()
	switch {
	case err != nil:
		return nil, err
	case ok:
		return output.OpenBucket(output.BucketConfig(bucket))
	case n.set.Output.Store != "":
		return output.NewDirectory(n.set.Output.Store), nil
	}
	return nil, nil
}

// openUploads returns the uploader of output; nil if output stays on this worker.
func (n *Node) openUploads() *output.Uploader {
	if n.outputs == nil {
		return nil
	}
	n.uploads = output.NewUploader(output.UploadConfig{
		From: worker.Outputs(n.set.Node.DataDir), To: n.outputs, Keep: n.set.Output.Keep, Now: n.now, Report: n.reportUploads(),
	})
	return n.uploads
}

// reportUploads returns a function that logs the first failure and the recovery, and sets the metrics.
func (n *Node) reportUploads() func(waiting int, trouble error) {
	var mu sync.Mutex
	failing := false // guarded by mu
	return func(waiting int, trouble error) {
		mu.Lock()
		defer mu.Unlock()
		n.metrics.Uploads(waiting, trouble != nil)
		if n.worker != nil {
			n.worker.OutputFails(trouble)
		}
		switch {
		case trouble != nil && !failing:
			n.log.Error("output is not uploaded: it waits on this worker, and runs continue", "store", n.set.Output.Store,
				"waiting", waiting, "err", trouble)
		case trouble == nil && failing:
			n.log.Info("output is uploaded again", "store", n.set.Output.Store, "waiting", waiting)
		}
		failing = trouble != nil
	}
}

// flushTimeout is how long a process that stops waits for the upload of its last output. The next process uploads the rest.
const flushTimeout = 3 * time.Second

// startUploads starts the upload of output. The caller calls stop when the worker has ended: it uploads the last output.
func (n *Node) startUploads(ctx context.Context) (stop func()) {
	if n.uploads == nil {
		return func() {}
	}
	uploading, end := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { _ = n.uploads.Run(uploading) }) // it returns no error
	return func() {
		flushing, cancel := context.WithTimeout(uploading, flushTimeout)
		n.uploads.Flush(flushing)
		cancel()
		end()
		wg.Wait()
	}
}
