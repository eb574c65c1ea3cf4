/// A place in a section that may be named from any thread.
typealias Place<Section, Value> = any WritableKeyPath<Section, Value> & Sendable

/// A key that a section may have, and what it does to the section's value.
struct Field<Section>: Sendable {
    let key: String
    let isRequired: Bool
    let read: @Sendable (inout Section, ConfigurationNode, inout ProblemList) -> Void

    /// A key with one value; `null` leaves the default.
    static func value<Value: Sendable>(
        _ key: String, _ place: Place<Section, Value>, _ kind: ValueKind<Value>,
        isRequired: Bool = false
    ) -> Field {
        Field(key: key, isRequired: isRequired) { section, node, problems in
            if case .null = node.content, !isRequired { return }
            guard let value = problems.trying(at: node, { () throws(TextError) in try kind.parse(node) }) else {
                return
            }
            section[keyPath: place] = value
        }
    }

    /// A key with one value, kept as an optional.
    static func value<Value: Sendable>(
        _ key: String, _ place: Place<Section, Value?>, _ kind: ValueKind<Value>
    ) -> Field {
        .value(key, place, kind.optional)
    }

    /// A key with a list of values.
    static func list<Value: Sendable>(
        _ key: String, _ place: Place<Section, [Value]>, _ kind: ValueKind<Value>
    ) -> Field {
        Field(key: key, isRequired: false) { section, node, problems in
            guard let nodes = problems.list(node) else { return }
            section[keyPath: place] = nodes.compactMap { element in
                problems.trying(at: element) { () throws(TextError) in try kind.parse(element) }
            }
        }
    }

    /// A key with a list of values, kept as an optional.
    static func list<Value: Sendable>(
        _ key: String, _ place: Place<Section, [Value]?>, _ kind: ValueKind<Value>
    ) -> Field {
        Field(key: key, isRequired: false) { section, node, problems in
            guard let nodes = problems.list(node) else { return }
            section[keyPath: place] = nodes.compactMap { element in
                problems.trying(at: element) { () throws(TextError) in try kind.parse(element) }
            }
        }
    }

    /// A key with a section of its own; `check` sees what no single key of it can tell.
    static func section<Inner: Sendable>(
        _ key: String, _ place: Place<Section, Inner>, _ fields: [Field<Inner>],
        check: @escaping @Sendable (Inner, ConfigurationNode, inout ProblemList) -> Void = { _, _, _ in }
    ) -> Field {
        Field(key: key, isRequired: false) { section, node, problems in
            problems.read(fields, from: node, into: &section[keyPath: place])
            check(section[keyPath: place], node, &problems)
        }
    }

    /// A key with a list of sections, each read onto `blank`.
    static func sections<Inner: Sendable>(
        _ key: String, _ place: Place<Section, [Inner]>, blank: Inner, _ fields: [Field<Inner>],
        check: @escaping @Sendable ([Inner], [ConfigurationNode], inout ProblemList) -> Void = { _, _, _ in }
    ) -> Field {
        Field(key: key, isRequired: false) { section, node, problems in
            guard let nodes = problems.list(node) else { return }
            section[keyPath: place] = nodes.map { element in
                var inner = blank
                problems.read(fields, from: element, into: &inner)
                return inner
            }
            check(section[keyPath: place], nodes, &problems)
        }
    }

    /// A key of the format that this version cannot serve yet.
    static func notAvailable(_ key: String) -> Field {
        Field(key: key, isRequired: false) { _, node, problems in
            problems.add("not available in this version", at: node)
        }
    }
}
