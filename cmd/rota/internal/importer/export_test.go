package importer

// Systemd is translateUnits for the contents of unit files.
func Systemd(texts map[string]string, timezone string, into *Result) {
	files := make(map[string][]numbered, len(texts))
	for file, text := range texts {
		files[file] = linesOf(text)
	}
	translateUnits(files, timezone, into)
}
