internal import TidegateCore

/// What `tidegate generate schema` prints.
package enum ConfigurationJSONSchema {
    /// The JSON Schema (draft 7) of the configuration file, on one line.
    package static var text: String {
        let fields = ConfigurationSchema.root.compactMap(\.text)
        let head = JSONValue.Member("$schema", .string("http://json-schema.org/draft-07/schema#"))
        return self.section(fields, [head]).description
    }

    /// A text, a number or a boolean: a key that takes texts takes all of them.
    static let scalar = JSONValue.object([.init("type", .texts(["string", "number", "boolean"]))])

    static func list(of element: JSONValue) -> JSONValue {
        .object([.init("type", .string("array")), .init("items", element)])
    }

    /// A mapping whose keys are names.
    static func mapping(of value: JSONValue) -> JSONValue {
        .object([.init("type", .string("object")), .init("additionalProperties", value)])
    }

    static func section(_ fields: [FieldText], _ head: [JSONValue.Member] = []) -> JSONValue {
        .object(
            head + [
                .init("type", .string("object")),
                .init("properties", .object(fields.map { .init($0.key, self.property($0)) })),
                .init("required", .texts(fields.filter(\.isRequired).map(\.key))),
                .init("additionalProperties", .bool(false)),
            ])
    }

    private static func property(_ field: FieldText) -> JSONValue {
        let value =
            switch field.content {
            case .value(let schema): schema
            case .section(let fields): self.section(fields)
            case .sections(let fields): self.list(of: self.section(fields))
            }
        // `null` leaves the default.
        let forms = field.isRequired ? [value] : [value, .object([.init("type", .string("null"))])]
        return .object([.init("description", .string(field.sentence)), .init("anyOf", .array(forms))])
    }
}
