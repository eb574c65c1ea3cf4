// The arithmetic operators; a result out of its type's range is an error, never a wrapped number.
extension Call {
    /// The result of an operator; nil if it does not accept these types.
    func calculation(_ budget: inout Budget) throws(CELError) -> Value? {
        if self.function == .negate { return try Self.negated(self.arguments[0]) }
        switch (self.arguments[0], self.arguments[1]) {
        case (.int(let left), .int(let right)): return .int(try Self.whole(self.function, left, right))
        case (.uint(let left), .uint(let right)): return .uint(try Self.whole(self.function, left, right))
        case (.double(let left), .double(let right)): return Self.real(self.function, left, right)
        case (.string(let left), .string(let right)) where self.function == .add:
            try budget.spend(bytes: left.count + right.count)
            return .string(left + right)
        case (.bytes(let left), .bytes(let right)) where self.function == .add:
            try budget.spend(bytes: left.count + right.count)
            return .bytes(left + right)
        case (.list(let left), .list(let right)) where self.function == .add:
            try budget.spend(left.count + right.count)
            return .list(left + right)
        default: return try self.ofTimes()
        }
    }

    private static func negated(_ value: Value) throws(CELError) -> Value? {
        switch value {
        case .int(let number): return .int(try self.whole(.subtract, 0, number))
        case .double(let number): return .double(-number)
        default: return nil
        }
    }

    private static func whole<Number: FixedWidthInteger>(
        _ function: Function, _ left: Number, _ right: Number
    ) throws(CELError) -> Number {
        if right == 0, function == .divide || function == .modulo {
            throw CELError(
                function == .divide ? "a number is divided by 0" : "there is no remainder of a division by 0")
        }
        let (result, isTooLarge) =
            switch function {
            case .add: left.addingReportingOverflow(right)
            case .subtract: left.subtractingReportingOverflow(right)
            case .multiply: left.multipliedReportingOverflow(by: right)
            case .divide: left.dividedReportingOverflow(by: right)
            default: left.remainderReportingOverflow(dividingBy: right)
            }
        guard !isTooLarge else { throw CELError("the result of \"\(function.rawValue)\" does not fit in 64 bits") }
        return result
    }

    private static func real(_ function: Function, _ left: Double, _ right: Double) -> Value? {
        switch function {
        case .add: .double(left + right)
        case .subtract: .double(left - right)
        case .multiply: .double(left * right)
        case .divide: .double(left / right)
        default: nil
        }
    }

    private func ofTimes() throws(CELError) -> Value? {
        switch (self.function, self.arguments[0], self.arguments[1]) {
        case (.add, .duration(let one), .duration(let other)): return .duration(try Self.whole(.add, one, other))
        case (.subtract, .duration(let one), .duration(let other)):
            return .duration(try Self.whole(.subtract, one, other))
        case (.add, .timestamp(let moment), .duration(let span)), (.add, .duration(let span), .timestamp(let moment)):
            return try Self.moment(moment.adding(span))
        case (.subtract, .timestamp(let moment), .duration(let span)):
            return try Self.moment(moment.adding(try Self.whole(.subtract, 0, span)))
        case (.subtract, .timestamp(let moment), .timestamp(let other)):
            guard let span = moment.since(other) else { throw CELError("a duration is longer than 292 years") }
            return .duration(span)
        default: return nil
        }
    }

    private static func moment(_ moment: Timestamp?) throws(CELError) -> Value {
        guard let moment else { throw CELError("a timestamp is not in the years 1 to 9999") }
        return .timestamp(moment)
    }
}
