/// One sample as a value: a line of the text format.
package struct MetricSample: Sendable, Hashable {
    /// A label of a series.
    package struct Label: Sendable, Hashable {
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The sample's name: a histogram's samples have their endings.
    package var name: String
    /// The labels in the order of their names' bytes.
    package var labels: [Label]
    /// The value; a count beyond 2^53 is rounded, as every reader of the text rounds it.
    package var value: Double

    /// A sample; its labels may come in any order.
    package init(name: String, labels: [Label], value: Double) {
        self.name = name
        self.labels = labels.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        self.value = value
    }

    /// A sample whose line begins with `prefix`, as ``Escaping/samplePrefix(_:_:_:)`` has written it.
    ///
    /// Reading it back keeps one place where names and labels are made, and costs children no memory.
    init(line prefix: some Collection<UInt8>, value: Double) {
        var rest = Array(prefix)[...]
        let name = rest.text(upTo: UInt8(ascii: "{"), or: UInt8(ascii: " "))
        var labels: [Label] = []
        while let first = rest.first, first != UInt8(ascii: " ") {
            let label = rest.text(upTo: UInt8(ascii: "="), or: UInt8(ascii: " "))
            rest = rest.dropFirst()
            labels.append(Label(label, rest.quoted()))
            // The comma before the next label, or the brace behind the last one.
            rest = rest.dropFirst()
        }
        self.init(name: name, labels: labels, value: value)
    }
}

extension ArraySlice<UInt8> {
    /// Takes the text before one of two bytes, and that byte unless it is the last one.
    fileprivate mutating func text(upTo end: UInt8, or other: UInt8) -> String {
        let text = self.prefix { $0 != end && $0 != other }
        self = self.dropFirst(text.count)
        if self.first == end { self = self.dropFirst() }
        return String(decoding: text, as: UTF8.self)
    }

    /// Takes an escaped text and the quote that ends it.
    fileprivate mutating func quoted() -> String {
        var text: [UInt8] = []
        while let byte = self.popFirst(), byte != UInt8(ascii: "\"") {
            guard byte == UInt8(ascii: "\\"), let escaped = self.popFirst() else {
                text.append(byte)
                continue
            }
            text.append(escaped == UInt8(ascii: "n") ? UInt8(ascii: "\n") : escaped)
        }
        return String(decoding: text, as: UTF8.self)
    }
}
