package auth

// Right is a permission that an operation of the API needs.
type Right string

// The rights.
const (
	// Anyone is the right that every caller has, even without an identity. It covers health and the description of the API.
	Anyone Right = "anyone"
	// Read allows to read jobs, runs, output, workers and events. Without Define, literal secrets are masked.
	Read Right = "read"
	// Operate allows to run, cancel, retry, pause, resume and approve.
	Operate Right = "operate"
	// Define allows to create, change and delete jobs that send requests or call handlers.
	Define Right = "define"
	// DefineCommand allows the same for jobs that execute commands. It includes ad hoc submissions.
	DefineCommand Right = "define-command"
	// Admin allows to change limits, notifiers, tokens and the pause of all jobs, and to accept a restored store.
	Admin Right = "admin"
	// Peer is the right of the replicas and workers of the cluster, for requests between processes. No role includes it.
	Peer Right = "peer"
)

// Role is a set of rights that an operator gives to an identity.
type Role string

// The roles. Each one includes the rights of the roles above it.
const (
	Viewer        Role = "viewer"
	Operator      Role = "operator"
	Author        Role = "author"
	AuthorCommand Role = "author-command"
	Administrator Role = "admin"
)

// Roles lists every Role, from the weakest to the strongest.
func Roles() []Role { return []Role{Viewer, Operator, Author, AuthorCommand, Administrator} }

// roleRank orders the roles. rightRank has the rank of the weakest role with a right. Anyone and Peer have no rank.
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
