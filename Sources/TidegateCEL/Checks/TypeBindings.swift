/// What the type variables of an overload stand for.
struct TypeBindings {
    private var types: [Character: ValueType] = [:]

    /// No variable stands for anything.
    init() {}

    /// True if a value of `type` may be given where `pattern` is wanted; binds the pattern's variables.
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

    /// A pattern with the types that its variables stand for.
    func resolved(_ pattern: ValueType) -> ValueType {
        switch pattern {
        case .variable(let name): self.types[name] ?? .dynamic
        case .list(let element): .list(self.resolved(element))
        case .map(let key, let value): .map(key: self.resolved(key), value: self.resolved(value))
        default: pattern
        }
    }
}
