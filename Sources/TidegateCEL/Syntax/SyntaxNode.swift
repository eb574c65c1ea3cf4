/// A part of an expression, as written.
struct SyntaxNode: Sendable {
    /// The kind of node.
    indirect enum Kind: Sendable {
        case literal(Value)
        case name(String)
        /// `operand.field`; within `has()`, only a test for the field.
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
    /// The number of nodes from here to the deepest descendant.
    let depth: Int

    /// Deeper trees could exhaust the stack of the evaluating thread.
    private static let deepest = 200

    /// A node with `parts` as its children.
    init(_ kind: Kind, at offset: Int, over parts: [SyntaxNode] = []) throws(CELError) {
        self.kind = kind
        self.offset = offset
        self.depth = 1 + (parts.map(\.depth).max() ?? 0)
        guard self.depth <= Self.deepest else {
            throw CELError("the expression is nested more than \(Self.deepest) deep", at: offset)
        }
    }
}

/// A macro over the elements of a list, or over the keys of a map.
struct Comprehension<Node: Sendable, Variable: Sendable>: Sendable {
    let kind: ComprehensionKind
    let range: Node
    /// The name of the element variable, or its position.
    let variable: Variable
    /// The condition on an element; nil for a `map` without one.
    let predicate: Node?
    /// The result of `map` for an element.
    let transform: Node?
}

/// The macro of a comprehension.
enum ComprehensionKind: String, Sendable {
    case all
    case exists
    case existsOne = "exists_one"
    case filter
    case map
}
