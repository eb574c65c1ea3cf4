/// Resolves names and functions, and rejects expressions that fail for all values.
struct Checker {
    /// An expression and its type.
    typealias Typed = (expression: CheckedExpression, type: ValueType)

    /// The visible variables, innermost last; their positions are those in the evaluator.
    private var variables: [(name: String, type: ValueType)]

    /// A checker that knows one variable, of any type.
    init(variable: String) { self.variables = [(variable, .dynamic)] }

    /// The expression and its type.
    mutating func check(_ node: SyntaxNode) throws(CELError) -> Typed {
        switch node.kind {
        case .literal(let value): return (.literal(value), value.type)
        case .name(let name): return try self.named(name, at: node.offset)
        case .select(let operand, let field, let isTest):
            return try self.select(operand, field, isTest: isTest, node)
        case .call(let name, let receiver, let arguments):
            return try self.call(name, receiver, arguments, at: node.offset)
        case .list(let nodes):
            let elements = try nodes.map { node throws(CELError) in try self.check(node) }
            return (.list(elements.map(\.expression)), .list(.common(of: elements.map(\.type))))
        case .map(let entries): return try self.map(entries)
        case .every(let nodes): return (.every(try self.conditions(nodes)), .bool)
        case .any(let nodes): return (.any(try self.conditions(nodes)), .bool)
        case .conditional(let condition, let first, let second):
            let test = try self.condition(condition)
            let (one, other) = (try self.check(first), try self.check(second))
            var bindings = TypeBindings()
            guard bindings.accepts(other.type, for: one.type) else {
                throw CELError("the values on both sides of \":\" have different types", at: node.offset)
            }
            return (.conditional(test, one.expression, other.expression), one.type.joined(with: other.type))
        case .comprehension(let comprehension): return try self.comprehension(comprehension, at: node.offset)
        }
    }

    // MARK: - Names

    private func named(_ name: String, at offset: Int) throws(CELError) -> Typed {
        if let place = self.variables.lastIndex(where: { $0.name == name }) {
            return (.variable(place), self.variables[place].type)
        }
        if let type = ValueType.named.first(where: { $0.name == name }) { return (.literal(.type(type)), .type) }
        throw CELError("\"\(name)\" is not known", at: offset)
    }

    private mutating func select(
        _ operand: SyntaxNode, _ field: String, isTest: Bool, _ node: SyntaxNode
    ) throws(CELError) -> Typed {
        if !isTest, let name = Self.qualifiedName(node),
            let type = ValueType.named.first(where: { $0.name == name })
        {
            return (.literal(.type(type)), .type)
        }
        let checked = try self.check(operand)
        let bytes = Array(field.utf8)
        let type: ValueType
        switch checked.type {
        case .map(_, let value): type = value
        case .dynamic: type = .dynamic
        default: throw CELError("a value of type \(checked.type.name) has no field \"\(field)\"", at: node.offset)
        }
        guard !isTest else { return (.has(checked.expression, field: bytes), .bool) }
        return (.select(checked.expression, field: bytes), type)
    }

    private static func qualifiedName(_ node: SyntaxNode) -> String? {
        switch node.kind {
        case .name(let name): name
        case .select(let operand, let field, false): self.qualifiedName(operand).map { "\($0).\(field)" }
        default: nil
        }
    }

    private mutating func map(_ entries: [(key: SyntaxNode, value: SyntaxNode)]) throws(CELError) -> Typed {
        let members = try entries.map { entry throws(CELError) in
            let (key, value) = (try self.check(entry.key), try self.check(entry.value))
            guard [.dynamic, .bool, .int, .uint, .string].contains(key.type) else {
                throw CELError("a value of type \(key.type.name) cannot be a map key", at: entry.key.offset)
            }
            return (key: key, value: value)
        }
        let type = ValueType.map(
            key: .common(of: members.map(\.key.type)), value: .common(of: members.map(\.value.type)))
        return (.map(members.map { ($0.key.expression, $0.value.expression) }), type)
    }

    // MARK: - Conditions and calls

    private mutating func condition(_ node: SyntaxNode) throws(CELError) -> CheckedExpression {
        let checked = try self.check(node)
        guard checked.type == .bool || checked.type == .dynamic else {
            throw CELError("a condition is expected instead of a value of type \(checked.type.name)", at: node.offset)
        }
        return checked.expression
    }

    private mutating func conditions(_ nodes: [SyntaxNode]) throws(CELError) -> [CheckedExpression] {
        try nodes.map { node throws(CELError) in try self.condition(node) }
    }

    private mutating func call(
        _ name: String, _ receiver: SyntaxNode?, _ arguments: [SyntaxNode], at offset: Int
    ) throws(CELError) -> Typed {
        let nodes = (receiver.map { [$0] } ?? []) + arguments
        guard let function = Function(name: name, argumentCount: nodes.count) else {
            throw CELError("there is no function \(name)()", at: offset)
        }
        let checked = try nodes.map { node throws(CELError) in try self.check(node) }
        let (operands, types) = (checked.map(\.expression), checked.map(\.type))
        var result: ValueType?
        for overload in Overload.all(of: function)
        where overload.isMember == (receiver != nil) && overload.parameters.count == types.count {
            var bindings = TypeBindings()
            let isAccepted = zip(types, overload.parameters).allSatisfy { bindings.accepts($0, for: $1) }
            guard isAccepted else { continue }
            let type = bindings.resolved(overload.result)
            result = result?.joined(with: type) ?? type
        }
        guard let result else { throw CELError(Self.mismatch(name, types, isMember: receiver != nil), at: offset) }
        if function == .matches, case .literal(.string(let bytes)) = operands[1] {
            return (.matches(operands[0], try Self.pattern(bytes, at: nodes[1].offset)), .bool)
        }
        return (.call(function, operands), result)
    }

    private static func mismatch(_ name: String, _ types: [ValueType], isMember: Bool) -> String {
        let names = types.map(\.name)
        let isFunction = name.unicodeScalars.allSatisfy { $0.properties.isAlphabetic } && name != "in"
        guard isFunction else { return "\"\(name)\" does not take \(names.joined(separator: " and "))" }
        let arguments = names.dropFirst(isMember ? 1 : 0).joined(separator: ", ")
        return "there is no \(isMember ? "\(names[0])." : "")\(name)(\(arguments))"
    }

    private static func pattern(_ bytes: [UInt8], at offset: Int) throws(CELError) -> RegularExpression {
        try Result { try RegularExpression(String(decoding: bytes, as: UTF8.self)) }
            .mapError { CELError("\($0)", at: offset) }.get()
    }

    private mutating func comprehension(
        _ comprehension: Comprehension<SyntaxNode, String>, at offset: Int
    ) throws(CELError) -> Typed {
        let range = try self.check(comprehension.range)
        let element: ValueType
        switch range.type {
        case .list(let type): element = type
        case .map(let key, _): element = key
        case .dynamic: element = .dynamic
        default:
            throw CELError("\(comprehension.kind.rawValue)() is not for a value of type \(range.type.name)", at: offset)
        }
        self.variables.append((comprehension.variable, element))
        defer { self.variables.removeLast() }
        let predicate = try comprehension.predicate.map { node throws(CELError) in try self.condition(node) }
        let transform = try comprehension.transform.map { node throws(CELError) in try self.check(node) }
        let checked = Comprehension(
            kind: comprehension.kind, range: range.expression, variable: self.variables.count - 1,
            predicate: predicate, transform: transform?.expression)
        let type: ValueType =
            switch comprehension.kind {
            case .all, .exists, .existsOne: .bool
            case .filter: .list(element)
            case .map: .list(transform?.type ?? .dynamic)
            }
        return (.comprehension(checked), type)
    }
}

/// The types bound to the type variables of an overload.
struct TypeBindings {
    private var types: [Character: ValueType] = [:]

    /// True if a value of `type` is allowed where `pattern` is expected; binds the pattern's variables.
    mutating func accepts(_ type: ValueType, for pattern: ValueType) -> Bool {
        switch (pattern, type) {
        case (.variable(let name), _):
            guard let bound = self.types[name], bound != .dynamic else {
                self.types[name] = type
                return true
            }
            return self.accepts(type, for: bound)
        case (.dynamic, _), (_, .dynamic): return true
        case (.list(let wanted), .list(let given)): return self.accepts(given, for: wanted)
        case (.map(let wantedKey, let wantedValue), .map(let givenKey, let givenValue)):
            return self.accepts(givenKey, for: wantedKey) && self.accepts(givenValue, for: wantedValue)
        default: return pattern == type
        }
    }

    /// A pattern with its variables replaced by the bound types.
    func resolved(_ pattern: ValueType) -> ValueType {
        switch pattern {
        case .variable(let name): self.types[name] ?? .dynamic
        case .list(let element): .list(self.resolved(element))
        case .map(let key, let value): .map(key: self.resolved(key), value: self.resolved(value))
        default: pattern
        }
    }
}

/// An expression whose names and functions are resolved, ready for evaluation.
indirect enum CheckedExpression: Sendable {
    case literal(Value)
    /// The variable at this position in the evaluator.
    case variable(Int)
    case select(CheckedExpression, field: [UInt8])
    /// True if the field exists.
    case has(CheckedExpression, field: [UInt8])
    case call(Function, [CheckedExpression])
    /// `matches()` with a constant pattern.
    case matches(CheckedExpression, RegularExpression)
    case list([CheckedExpression])
    case map([(key: CheckedExpression, value: CheckedExpression)])
    case every([CheckedExpression])
    case any([CheckedExpression])
    case conditional(CheckedExpression, CheckedExpression, CheckedExpression)
    case comprehension(Comprehension<CheckedExpression, Int>)
}
