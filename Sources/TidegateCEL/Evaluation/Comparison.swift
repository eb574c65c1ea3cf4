/// Decides whether values are equal, and how they are ordered.
enum Comparison {
    /// The position of the first value relative to the second.
    enum Order: Int {
        case less = -1
        case equal
        case greater
        /// One of them is NaN; reversing the operands does not change this.
        case unordered

        var reversed: Order { Order(rawValue: -self.rawValue) ?? self }
    }

    /// True if two values are equal; values of different types never are, except numbers.
    static func isEqual(_ left: Value, _ right: Value, _ budget: inout Budget) throws(CELError) -> Bool {
        try budget.spend()
        switch (left, right) {
        case (.null, .null): return true
        case (.type(let one), .type(let other)): return one == other
        case (.list(let some), .list(let others)):
            guard some.count == others.count else { return false }
            for (one, other) in zip(some, others) where !(try Self.isEqual(one, other, &budget)) { return false }
            return true
        case (.map(let some), .map(let others)):
            guard some.count == others.count else { return false }
            for (key, value) in some {
                guard let other = others[key], try Self.isEqual(value, other, &budget) else { return false }
            }
            return true
        default: return try Self.order(left, right, &budget) == .equal
        }
    }

    /// The order of two values; nil if their types have none.
    static func order(_ left: Value, _ right: Value, _ budget: inout Budget) throws(CELError) -> Order? {
        switch (left, right) {
        case (.bool(let one), .bool(let other)): return self.order(one ? 1 : 0, other ? 1 : 0)
        case (.string(let one), .string(let other)), (.bytes(let one), .bytes(let other)):
            try budget.spend(bytes: min(one.count, other.count))
            // UTF-8 sorts by code point.
            return one == other ? .equal : one.lexicographicallyPrecedes(other) ? .less : .greater
        case (.timestamp(let one), .timestamp(let other)): return self.order(one.total, other.total)
        case (.duration(let one), .duration(let other)): return self.order(one, other)
        default: return self.numericOrder(left, right)
        }
    }

    private static func order<Element: Comparable>(_ one: Element, _ other: Element) -> Order {
        one < other ? .less : one == other ? .equal : .greater
    }

    // Swift compares integers of different types, and integers with doubles, by value.
    private static func numericOrder(_ left: Value, _ right: Value) -> Order? {
        switch (left, right) {
        case (.int(let one), .int(let other)): self.order(one, other)
        case (.uint(let one), .uint(let other)): self.order(one, other)
        case (.int(let one), .uint(let other)): one < other ? .less : one == other ? .equal : .greater
        case (.uint(let one), .int(let other)): one < other ? .less : one == other ? .equal : .greater
        case (.double(let one), .double(let other)):
            one.isNaN || other.isNaN ? .unordered : self.order(one, other)
        case (.double(let one), .int(let other)): self.order(one, of: other)
        case (.double(let one), .uint(let other)): self.order(one, of: other)
        case (.int(let one), .double(let other)): self.order(other, of: one).reversed
        case (.uint(let one), .double(let other)): self.order(other, of: one).reversed
        default: nil
        }
    }

    // Exact even if a double cannot represent the integer.
    private static func order(_ number: Double, of integer: some FixedWidthInteger) -> Order {
        guard !number.isNaN else { return .unordered }
        guard number.magnitude < 0x1p65 else { return number < 0 ? .less : .greater }
        let whole = number.rounded(.down)
        let (one, other) = (Int128(whole), Int128(integer))
        return one == other && number > whole ? .greater : self.order(one, other)
    }
}
