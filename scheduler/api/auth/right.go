package auth

// Right is what an operation of the API needs.
type Right string

// The rights.
const (
	// Anyone is the right of everybody, also without an identity: health, and the description of the API.
	Anyone Right = "anyone"
	// Read shows jobs, runs, output, workers and events. Literal secrets are masked without Define.
	Read Right = "read"
	// Operate runs, cancels, retries, pauses, resumes and approves.
	Operate Right = "operate"
	// Define creates, changes and deletes jobs that send requests or call handlers.
	Define Right = "define"
	// DefineCommand does the same to jobs that execute commands. It includes ad hoc submissions.
	DefineCommand Right = "define-command"
	// Admin changes limits, notifiers, tokens and the pause of all jobs, and accepts a restored store.
	Admin Right = "admin"
	// Peer is the right of the replicas and workers of the cluster, for requests between processes. No role has it.
	Peer Right = "peer"
)

// Role is a set of rights that an operator gives.
type Role string

// The roles, each of which includes those above it.
const (
	Viewer        Role = "viewer"
	Operator      Role = "operator"
	Author        Role = "author"
	AuthorCommand Role = "author-command"
	Administrator Role = "admin"
)

// Roles lists every Role, the weakest first.
func Roles() []Role { return []Role{Viewer, Operator, Author, AuthorCommand, Administrator} }

// rank is the place of a role, or of the weakest role that has a right; -1 if there is none.
var (
	roleRank  = map[Role]int{Viewer: 0, Operator: 1, Author: 2, AuthorCommand: 3, Administrator: 4}
	rightRank = map[Right]int{Read: 0, Operate: 1, Define: 2, DefineCommand: 3, Admin: 4}
)

// Has reports whether the role includes a right. An unknown role has none.
func (r Role) Has(right Right) bool {
	have, known := roleRank[r]
	need, given := rightRank[right]
	return right == Anyone || known && given && have >= need
}
