/// Computes the value of an expression.
struct Evaluator {
    /// The document, then the elements of the enclosing macros.
    var variables: [Value]
    var budget: Budget

    /// The value of an expression.
    mutating func value(of expression: CheckedExpression) throws(CELError) -> Value {
        try self.budget.spend()
        switch expression {
        case .literal(let value): return value
        case .variable(let place): return self.variables[place]
        case .select(let operand, let field):
            guard let value = try self.members(of: operand, field)[.string(field)] else {
                throw CELError("there is no key \"\(String(decoding: field, as: UTF8.self))\"")
            }
            return value
        case .has(let operand, let field):
            return .bool(try self.members(of: operand, field)[.string(field)] != nil)
        case .call(let function, let operands):
            var values: [Value] = []
            values.reserveCapacity(operands.count)
            for operand in operands { values.append(try self.value(of: operand)) }
            return try Call(function: function, arguments: values).result(&self.budget)
        case .matches(let operand, let pattern):
            let value = try self.value(of: operand)
            guard case .string(let text) = value else {
                throw Call(function: .matches, arguments: [value, .string([])]).mismatch
            }
            try self.budget.spend(bytes: text.count)
            return .bool(pattern.matches(text))
        case .list(let elements):
            var values: [Value] = []
            for element in elements { values.append(try self.value(of: element)) }
            return .list(values)
        case .map(let entries): return try self.map(entries)
        case .every(let conditions): return .bool(try self.isDecided(by: conditions, unless: false))
        case .any(let conditions): return .bool(try self.isDecided(by: conditions, unless: true))
        case .conditional(let condition, let first, let second):
            return try self.value(of: self.truth(of: condition) ? first : second)
        case .comprehension(let comprehension): return try self.value(of: comprehension)
        }
    }

    private mutating func members(of operand: CheckedExpression, _ field: [UInt8]) throws(CELError) -> [MapKey: Value] {
        let value = try self.value(of: operand)
        guard case .map(let members) = value else {
            let name = String(decoding: field, as: UTF8.self)
            throw CELError("a value of type \(value.type.name) has no field \"\(name)\"")
        }
        return members
    }

    private mutating func map(
        _ entries: [(key: CheckedExpression, value: CheckedExpression)]
    ) throws(CELError) -> Value {
        var members: [MapKey: Value] = [:]
        for entry in entries {
            let value = try self.value(of: entry.key)
            guard let key = MapKey(value) else {
                throw CELError("a value of type \(value.type.name) cannot be a map key")
            }
            guard members.updateValue(try self.value(of: entry.value), forKey: key) == nil else {
                throw CELError("a map has the same key twice")
            }
        }
        return .map(members)
    }

    // MARK: - Conditions

    private mutating func truth(of condition: CheckedExpression) throws(CELError) -> Bool {
        let value = try self.value(of: condition)
        guard case .bool(let truth) = value else {
            throw CELError("a condition is expected instead of a value of type \(value.type.name)")
        }
        return truth
    }

    /// The result of `&&` (true unless a condition is false) and `||` (false unless one is true).
    ///
    /// An error counts only if no other operand decides.
    private mutating func isDecided(
        by conditions: [CheckedExpression], unless decisive: Bool
    ) throws(CELError) -> Bool {
        var failure: CELError?
        for condition in conditions {
            do throws(CELError) {
                if try self.truth(of: condition) == decisive { return decisive }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return !decisive
    }

    // MARK: - Macros

    private mutating func value(of comprehension: Comprehension<CheckedExpression, Int>) throws(CELError) -> Value {
        let range = try self.value(of: comprehension.range)
        let elements: [Value]
        switch range {
        case .list(let values): elements = values
        case .map(let members):
            try self.budget.spend(members.count)
            elements = members.keys.map(\.value)
        default:
            throw CELError("\(comprehension.kind.rawValue)() is not for a value of type \(range.type.name)")
        }
        self.variables.append(.null)
        defer { self.variables.removeLast() }
        switch comprehension.kind {
        case .all: return .bool(try self.holds(comprehension, elements, unless: false))
        case .exists: return .bool(try self.holds(comprehension, elements, unless: true))
        case .existsOne, .filter, .map: break
        }
        var (chosen, count): ([Value], Int) = ([], 0)
        for element in elements {
            self.variables[comprehension.variable] = element
            if let predicate = comprehension.predicate, !(try self.truth(of: predicate)) { continue }
            count += 1
            guard comprehension.kind != .existsOne else { continue }
            chosen.append(
                try comprehension.transform.map { node throws(CELError) in try self.value(of: node) } ?? element)
        }
        return comprehension.kind == .existsOne ? .bool(count == 1) : .list(chosen)
    }

    /// Implements `all()` and `exists()`, which combine the conditions on elements like `&&` and `||`.
    private mutating func holds(
        _ comprehension: Comprehension<CheckedExpression, Int>, _ elements: [Value], unless decisive: Bool
    ) throws(CELError) -> Bool {
        guard let predicate = comprehension.predicate else { return !decisive }
        var failure: CELError?
        for element in elements {
            self.variables[comprehension.variable] = element
            do throws(CELError) {
                if try self.truth(of: predicate) == decisive { return decisive }
            } catch {
                failure = failure ?? error
            }
            // Checked here, so that an exhausted budget does not continue with the next element.
            try self.budget.spend()
        }
        if let failure { throw failure }
        return !decisive
    }
}

/// The remaining steps of an evaluation, because nested expressions multiply the work.
struct Budget {
    private var steps = 0
    private var isCheckedAt = Self.interval
    private let isCancelled: () -> Bool

    /// About a second.
    static let mostSteps = 10_000_000
    /// The number of steps between checks for cancellation.
    private static let interval = 4096

    /// A budget that ends early once `isCancelled` returns true.
    init(isCancelled: @escaping () -> Bool) { self.isCancelled = isCancelled }

    /// Spends steps.
    mutating func spend(_ count: Int = 1) throws(CELError) {
        self.steps += count
        guard self.steps >= self.isCheckedAt else { return }
        guard self.steps <= Self.mostSteps else {
            throw CELError("the evaluation was ended after \(Self.mostSteps) steps", isUnfinished: true)
        }
        guard !self.isCancelled() else { throw CELError("the evaluation was not finished in time", isUnfinished: true) }
        self.isCheckedAt = self.steps + Self.interval
    }

    /// Spends the steps for examining this number of bytes.
    mutating func spend(bytes: Int) throws(CELError) { try self.spend(1 + bytes / 64) }
}
