package metrics

// Uploads sets how many outputs wait for their upload, and whether uploads fail.
func (m *Metrics) Uploads(waiting int, failing bool) {
	m.uploading.Set(float64(waiting))
	m.uploadErr.Set(oneIf(failing))
}
