/// A part of an expression, as it was written.
struct SyntaxNode: Sendable {
    /// What it is.
    indirect enum Kind: Sendable {
        case literal(Value)
        case name(String)
        /// `operand.field`; with `has()` only whether it is there.
        case select(SyntaxNode, field: String, isTest: Bool)
        /// `function(…)`, or `receiver.function(…)`; operators are functions.
        case call(String, receiver: SyntaxNode?, [SyntaxNode])
        case list([SyntaxNode])
        case map([(key: SyntaxNode, value: SyntaxNode)])
        case every([SyntaxNode])
        case any([SyntaxNode])
        case conditional(SyntaxNode, SyntaxNode, SyntaxNode)
        case comprehension(Comprehension<SyntaxNode, String>)
    }

    let kind: Kind
    /// In Unicode scalars from the start of the text.
    let offset: Int
    /// How many nodes there are from here to the deepest one.
    let depth: Int

    /// Deeper ones could use up the stack of the thread that evaluates them.
    private static let deepest = 200

    /// A node over `parts`.
    init(_ kind: Kind, at offset: Int, over parts: [SyntaxNode] = []) throws(CELError) {
        self.kind = kind
        self.offset = offset
        self.depth = 1 + (parts.map(\.depth).max() ?? 0)
        guard self.depth <= Self.deepest else {
            throw CELError("the expression is nested more than \(Self.deepest) deep", at: offset)
        }
    }
}

/// A macro that looks at each element of a list, or at each key of a map.
struct Comprehension<Node: Sendable, Variable: Sendable>: Sendable {
    let kind: ComprehensionKind
    let range: Node
    /// The name of an element, or where it stands.
    let variable: Variable
    /// The condition on an element; nil for a `map` of all.
    let predicate: Node?
    /// What `map` makes of an element.
    let transform: Node?
}

/// Which macro a comprehension is.
enum ComprehensionKind: String, Sendable {
    case all
    case exists
    case existsOne = "exists_one"
    case filter
    case map
}
