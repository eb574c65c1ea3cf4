internal import TidegateCore

/// A function with the values of its arguments.
struct Call {
    let function: Function
    let arguments: [Value]

    /// The function's result.
    func result(_ budget: inout Budget) throws(CELError) -> Value {
        let value: Value?
        switch self.function {
        case .equals, .differs:
            let isEqual = try Comparison.isEqual(self.arguments[0], self.arguments[1], &budget)
            value = .bool(isEqual == (self.function == .equals))
        case .less, .lessOrEqual, .greater, .greaterOrEqual: value = try self.comparison(&budget)
        case .isIn: value = try self.membership(&budget)
        case .index: value = try self.element()
        case .not: if case .bool(let truth) = self.arguments[0] { value = .bool(!truth) } else { value = nil }
        case .add, .subtract, .multiply, .divide, .modulo, .negate:
            value = try self.calculation(&budget)
        case .size, .contains, .startsWith, .endsWith, .matches:
            value = try self.textual(&budget)
        case .bool, .bytes, .double, .duration, .dyn, .int, .string, .timestamp, .type, .uint:
            value = try self.conversion(&budget)
        case .getDate, .getDayOfMonth, .getDayOfWeek, .getDayOfYear, .getFullYear, .getHours, .getMilliseconds,
            .getMinutes, .getMonth, .getSeconds:
            value = try self.partOfTime()
        }
        guard let value else { throw self.mismatch }
        return value
    }

    /// The error of a function that does not accept these types.
    var mismatch: CELError {
        let types = self.arguments.map(\.type.name)
        let isOperator = self.function.rawValue == "in" || self.function.rawValue.first?.isLetter != true
        let name = self.function == .negate ? "-" : self.function.rawValue
        guard isOperator else { return CELError("\(name)() does not take \(types.joined(separator: " and "))") }
        return CELError("\"\(name)\" does not take \(types.joined(separator: " and "))")
    }

    private func comparison(_ budget: inout Budget) throws(CELError) -> Value? {
        guard let order = try Comparison.order(self.arguments[0], self.arguments[1], &budget) else { return nil }
        // Comparisons with NaN are false.
        guard order != .unordered else { return .bool(false) }
        switch self.function {
        case .less: return .bool(order == .less)
        case .lessOrEqual: return .bool(order != .greater)
        case .greater: return .bool(order == .greater)
        default: return .bool(order != .less)
        }
    }

    private func membership(_ budget: inout Budget) throws(CELError) -> Value? {
        switch self.arguments[1] {
        case .list(let elements):
            for element in elements where try Comparison.isEqual(self.arguments[0], element, &budget) {
                return .bool(true)
            }
            return .bool(false)
        case .map(let members): return .bool(MapKey(self.arguments[0]).map { members[$0] != nil } ?? false)
        default: return nil
        }
    }

    private func element() throws(CELError) -> Value? {
        switch self.arguments[0] {
        case .list(let elements):
            guard case .int(let index)? = MapKey(self.arguments[1]) else {
                if case .string = self.arguments[1] { return nil }
                if case .bool = self.arguments[1] { return nil }
                throw CELError("an index is not a whole number")
            }
            guard index >= 0, index < elements.count else {
                throw CELError("there is no element \(index) in a list of \(elements.count)")
            }
            return elements[Int(index)]
        case .map(let members):
            guard let key = MapKey(self.arguments[1]), let value = members[key] else {
                throw CELError("there is no such key")
            }
            return value
        default: return nil
        }
    }

    private func partOfTime() throws(CELError) -> Value? {
        switch (self.arguments[0], self.arguments.count) {
        case (.timestamp(let moment), 1): return self.part(of: moment, offset: 0).map(Value.int)
        case (.timestamp(let moment), _):
            guard case .string(let name) = self.arguments[1] else { return nil }
            guard let offset = InternetTime.offset(String(decoding: name, as: UTF8.self)) else {
                throw CELError("a time zone is UTC or an offset such as +02:00; names of places are not known")
            }
            return self.part(of: moment, offset: offset).map(Value.int)
        case (.duration(let nanoseconds), 1):
            switch self.function {
            case .getHours: return .int(nanoseconds / 3_600_000_000_000)
            case .getMinutes: return .int(nanoseconds / 60_000_000_000)
            case .getSeconds: return .int(nanoseconds / 1_000_000_000)
            case .getMilliseconds: return .int(nanoseconds / 1_000_000)
            default: return nil
            }
        default: return nil
        }
    }

    // A component of a timestamp in a time zone `offset` seconds ahead of UTC; nil for another function.
    private func part(of moment: Timestamp, offset: Int64) -> Int64? {
        let local = moment.seconds + offset
        let days = local.flooredDivision(by: 86_400)
        let second = local.flooredRemainder(by: 86_400)
        let date = CivilDate(daysSince1970: days)
        switch self.function {
        case .getFullYear: return date.year
        case .getMonth: return date.month - 1
        case .getDate: return date.day
        case .getDayOfMonth: return date.day - 1
        // 1 January 1970 was a Thursday.
        case .getDayOfWeek: return (days + 4).flooredRemainder(by: 7)
        case .getDayOfYear: return days - CivilDate(year: date.year, month: 1, day: 1).daysSince1970
        case .getHours: return second / 3600
        case .getMinutes: return second / 60 % 60
        case .getSeconds: return second % 60
        case .getMilliseconds: return moment.nanoseconds / 1_000_000
        default: return nil
        }
    }

    // MARK: - Strings

    /// The maximum length of patterns that are only known during evaluation.
    private static let longestPattern = 1024

    /// The result of a string function or `size()`; nil if it does not accept these types.
    private func textual(_ budget: inout Budget) throws(CELError) -> Value? {
        if self.function == .size { return try self.size(&budget).map { .int(Int64($0)) } }
        guard case .string(let text) = self.arguments[0], case .string(let part) = self.arguments[1] else { return nil }
        try budget.spend(bytes: text.count + part.count)
        switch self.function {
        case .startsWith: return .bool(text.starts(with: part))
        case .endsWith: return .bool(text.suffix(part.count) == part[...])
        case .contains: return .bool(text.contains(part))
        default:
            guard part.count <= Self.longestPattern else {
                throw CELError("a pattern is longer than \(Self.longestPattern) bytes")
            }
            // The automaton is rebuilt each time.
            try budget.spend(part.count * 10)
            let expression = Result { try RegularExpression(String(decoding: part, as: UTF8.self)) }
            return .bool(try expression.mapError { CELError("\($0)") }.get().matches(text))
        }
    }

    // A string's size is its number of code points.
    private func size(_ budget: inout Budget) throws(CELError) -> Int? {
        switch self.arguments[0] {
        case .string(let text):
            try budget.spend(bytes: text.count)
            return text.count { $0 & 0xC0 != 0x80 }
        case .bytes(let bytes): return bytes.count
        case .list(let elements): return elements.count
        case .map(let members): return members.count
        default: return nil
        }
    }
}
