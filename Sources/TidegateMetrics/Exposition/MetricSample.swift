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

    /// The sample's name, including a histogram's suffix.
    package var name: String
    /// The labels, sorted by the bytes of their names.
    package var labels: [Label]
    /// The value; counts beyond 2^53 are rounded, as by every reader of the text.
    package var value: Double

    /// A sample; the labels may be in any order.
    package init(name: String, labels: [Label], value: Double) {
        self.name = name
        self.labels = labels.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        self.value = value
    }

    /// A sample whose line starts with `prefix`, as written by ``Escaping/samplePrefix(_:_:_:)``.
    ///
    /// Parsing the prefix keeps a single place that makes names and labels, and costs the children no memory.
    init(line prefix: some Collection<UInt8>, value: Double) {
        var rest = Array(prefix)[...]
        let name = rest.text(upTo: UInt8(ascii: "{"), or: UInt8(ascii: " "))
        var labels: [Label] = []
        while let first = rest.first, first != UInt8(ascii: " ") {
            let label = rest.text(upTo: UInt8(ascii: "="), or: UInt8(ascii: " "))
            rest = rest.dropFirst()
            labels.append(Label(label, rest.quoted()))
            // Drops the comma before the next label, or the brace after the last one.
            rest = rest.dropFirst()
        }
        self.init(name: name, labels: labels, value: value)
    }
}

extension ArraySlice<UInt8> {
    /// Removes and returns the text before one of two bytes; also removes that byte unless it is the last one.
    fileprivate mutating func text(upTo end: UInt8, or other: UInt8) -> String {
        let text = self.prefix { $0 != end && $0 != other }
        self = self.dropFirst(text.count)
        if self.first == end { self = self.dropFirst() }
        return String(decoding: text, as: UTF8.self)
    }

    /// Removes and returns an escaped text; also removes the closing quote.
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
