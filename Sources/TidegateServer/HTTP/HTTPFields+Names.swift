internal import HTTPTypes

extension HTTPFields {
    /// A field by its name as a text; nil if there is none, or if the text is not a name.
    subscript(named name: String) -> String? {
        get { HTTPField.Name(name).flatMap { self[$0] } }
        set { if let name = HTTPField.Name(name) { self[name] = newValue } }
    }

    /// Every value of a field as one list (RFC 9110 5.3); nil if there is none.
    func list(_ name: HTTPField.Name) -> String? {
        let values = self[values: name]
        return values.isEmpty ? nil : values.joined(separator: ",")
    }
}
