// Package docpage keeps the generated parts of the documentation equal to what the code prints.
package docpage
