/// The exposition while it is being written.
struct Output {
    private(set) var bytes: [UInt8]
    private(set) var series = 0
    let format: ExpositionFormat

    /// Writes into `buffer`'s storage.
    init(reusing buffer: consuming [UInt8], format: ExpositionFormat) {
        self.bytes = buffer
        self.bytes.removeAll(keepingCapacity: true)
        self.format = format
    }

    mutating func write(_ header: Header) {
        self.bytes += self.format.isOpenMetrics ? header.openMetrics : header.text
    }

    mutating func sample(_ prefix: some Collection<UInt8>, _ value: UInt64) {
        self.bytes += prefix
        self.digits(of: value)
        self.endLine()
    }

    mutating func sample(_ prefix: some Collection<UInt8>, _ value: Double) {
        self.bytes += prefix
        // Counts are exact and quick to write; a whole negative number and minus zero are rare enough for the long way.
        if value > 0 || value.bitPattern == 0, value < 9e15, value == value.rounded() {
            self.digits(of: UInt64(value))
        } else {
            self.bytes += NumberText.float(value).utf8
        }
        self.endLine()
    }

    mutating func end() {
        if self.format.isOpenMetrics { self.bytes += "# EOF\n".utf8 }
    }

    private mutating func endLine() {
        self.bytes.append(UInt8(ascii: "\n"))
        self.series += 1
    }

    // From the last digit to the first into a place on the stack: reversing a part of the buffer would copy it.
    private mutating func digits(of value: UInt64) {
        var digits = InlineArray<20, UInt8>(repeating: 0)
        var (rest, first) = (value, 20)
        repeat {
            first -= 1
            digits[first] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
        for position in first..<20 { self.bytes.append(digits[position]) }
    }
}

/// A family's metadata lines, once for each kind of format.
struct Header: Sendable {
    let openMetrics: [UInt8]
    let text: [UInt8]

    init(_ definition: MetricDefinition) {
        var lines = Array("# TYPE \(definition.family) \(definition.typeName)\n".utf8)
        if definition.unit != .none { lines += "# UNIT \(definition.family) \(definition.unit.rawValue)\n".utf8 }
        lines += "# HELP \(definition.family) ".utf8
        lines += Escaping.help(definition.help, for: .openMetrics)
        self.openMetrics = lines + "\n".utf8
        var classic = Array("# HELP \(definition.name) ".utf8)
        classic += Escaping.help(definition.help, for: .text)
        self.text = classic + "\n# TYPE \(definition.name) \(definition.typeName)\n".utf8
    }
}
