// Package fewfiles lets tests meet a process that can open no files.
package fewfiles
