/// An XML element with its attributes and content.
public struct XMLValue: Sendable, Hashable {
    /// A piece of an element's content.
    public enum Content: Sendable, Hashable {
        /// An element.
        case element(XMLValue)
        /// Text with its references replaced, including CDATA sections.
        case text(String)
    }

    /// The name with its prefix, as written in the document.
    public var name: String
    /// The attribute values by name.
    public var attributes: [String: String] = [:]
    /// Elements and text in order; comments and processing instructions are omitted.
    public var content: [Content] = []

    /// An element with these values.
    public init(name: String, attributes: [String: String] = [:], content: [Content] = []) {
        self.name = name
        self.attributes = attributes
        self.content = content
    }

    /// Parses a well-formed document (XML 1.0) without an internal DTD subset, at most 256 elements deep.
    ///
    /// Only XML's five predefined entities are known, so that nothing is expanded or fetched.
    /// - Throws: ``XMLError`` with the line.
    public init(parsing text: String) throws(XMLError) {
        var parser = XMLParser(text)
        self = try parser.document()
    }

    /// The direct child elements.
    public var children: [XMLValue] {
        self.content.compactMap { if case .element(let element) = $0 { element } else { nil } }
    }

    /// The text in this element and all its descendants.
    public var text: String {
        self.content.map { content in
            switch content {
            case .element(let element): element.text
            case .text(let text): text
            }
        }.joined()
    }

    /// The first child element with this name; nil without one.
    public subscript(name: String) -> XMLValue? { self.children.first { $0.name == name } }
}

/// Why a text is not XML; the message quotes nothing from it.
public struct XMLError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The problem, as one clause.
    public let problem: String
    /// The line, from 1.
    public let line: Int

    /// One clause without a full stop.
    public var description: String { "not XML: \(self.problem) in line \(self.line)" }
}

private struct XMLParser {
    private let bytes: [UInt8]
    private var offset = 0

    init(_ text: String) {
        // XML 1.0 2.11: every line ending is normalized to a line feed.
        var bytes: [UInt8] = []
        var previous: UInt8 = 0
        for byte in text.utf8 {
            if byte != 10 || previous != 13 { bytes.append(byte == 13 ? 10 : byte) }
            previous = byte
        }
        self.bytes = bytes
    }

    private func error(_ problem: String) -> XMLError {
        XMLError(problem: problem, line: 1 + self.bytes.prefix(self.offset).count { $0 == 10 })
    }

    private var isAtEnd: Bool { self.offset >= self.bytes.count }

    private func isNext(_ text: StaticString) -> Bool {
        self.bytes[self.offset...].starts(with: text.description.utf8)
    }

    private mutating func take(_ text: StaticString) -> Bool {
        guard self.isNext(text) else { return false }
        self.offset += text.utf8CodeUnitCount
        return true
    }

    private mutating func skipSpace() {
        while !self.isAtEnd, [0x20, 0x09, 0x0A].contains(self.bytes[self.offset]) { self.offset += 1 }
    }

    /// Removes and returns everything up to a text, and also removes that text.
    private mutating func take(until end: StaticString, of what: String) throws(XMLError) -> ArraySlice<UInt8> {
        let start = self.offset
        while !self.isAtEnd {
            if self.isNext(end) {
                defer { self.offset += end.utf8CodeUnitCount }
                return self.bytes[start..<self.offset]
            }
            self.offset += 1
        }
        self.offset = start
        throw self.error("\(what) has no end")
    }

    // MARK: - The document

    mutating func document() throws(XMLError) -> XMLValue {
        try self.skipMisc(allowingDoctype: true)
        guard self.isNext("<") else { throw self.error("no element begins") }
        let root = try self.element()
        try self.skipMisc(allowingDoctype: false)
        guard self.isAtEnd else { throw self.error("content follows the root element") }
        return root
    }

    private mutating func skipMisc(allowingDoctype: Bool) throws(XMLError) {
        while true {
            self.skipSpace()
            if self.take("<!--") {
                _ = try self.take(until: "-->", of: "a comment")
            } else if self.take("<?") {
                _ = try self.take(until: "?>", of: "a processing instruction")
            } else if allowingDoctype, self.take("<!DOCTYPE") {
                let declaration = try self.take(until: ">", of: "the document type")
                guard !declaration.contains(UInt8(ascii: "[")) else {
                    throw self.error("the document type declares entities, which are not read,")
                }
            } else {
                return
            }
        }
    }

    // MARK: - Elements

    private mutating func element() throws(XMLError) -> XMLValue {
        var open: [XMLValue] = []
        while true {
            if self.take("</") {
                let name = try self.name()
                self.skipSpace()
                guard let element = open.popLast(), element.name == name, self.take(">") else {
                    throw self.error("an end tag does not match its start tag")
                }
                guard !open.isEmpty else { return element }
                open[open.count - 1].content.append(.element(element))
            } else if self.take("<!--") {
                _ = try self.take(until: "-->", of: "a comment")
            } else if self.take("<![CDATA[") {
                guard !open.isEmpty else { throw self.error("text is outside the root element") }
                self.add(String(decoding: try self.take(until: "]]>", of: "a CDATA section"), as: UTF8.self), to: &open)
            } else if self.take("<?") {
                _ = try self.take(until: "?>", of: "a processing instruction")
            } else if self.take("<") {
                guard open.count < 256 else { throw self.error("elements are nested more than 256 deep") }
                let (element, isEmpty) = try self.startTag()
                if !isEmpty {
                    open.append(element)
                } else if open.isEmpty {
                    return element
                } else {
                    open[open.count - 1].content.append(.element(element))
                }
            } else {
                guard !self.isAtEnd else { throw self.error("an element has no end") }
                self.add(try self.text { $0 == UInt8(ascii: "<") }, to: &open)
            }
        }
    }

    private func add(_ text: String, to open: inout [XMLValue]) {
        guard let last = open.indices.last, !text.isEmpty else { return }
        guard case .text(var whole)? = open[last].content.last else { return open[last].content.append(.text(text)) }
        // Removed first, so that it is not copied for every piece.
        open[last].content.removeLast()
        whole += text
        open[last].content.append(.text(whole))
    }

    private mutating func startTag() throws(XMLError) -> (XMLValue, isEmpty: Bool) {
        var element = XMLValue(name: try self.name())
        while true {
            let before = self.offset
            self.skipSpace()
            if self.take("/>") { return (element, true) }
            if self.take(">") { return (element, false) }
            guard self.offset > before else { throw self.error("a start tag has no end") }
            let name = try self.name()
            self.skipSpace()
            guard self.take("=") else { throw self.error("an attribute has no value") }
            self.skipSpace()
            guard !self.isAtEnd, [0x22, 0x27].contains(self.bytes[self.offset]) else {
                throw self.error("an attribute's value is not quoted")
            }
            let quote = self.bytes[self.offset]
            self.offset += 1
            let value = try self.text(spacesOnly: true) { $0 == quote || $0 == UInt8(ascii: "<") }
            guard !self.isAtEnd, self.bytes[self.offset] == quote else {
                throw self.error("an attribute's value has no end")
            }
            self.offset += 1
            guard element.attributes.updateValue(value, forKey: name) == nil else {
                throw self.error("an attribute is given twice")
            }
        }
    }

    private mutating func name() throws(XMLError) -> String {
        let start = self.offset
        while !self.isAtEnd, XMLParser.isNameByte(self.bytes[self.offset], isFirst: self.offset == start) {
            self.offset += 1
        }
        guard self.offset > start else { throw self.error("a name is missing") }
        return String(decoding: self.bytes[start..<self.offset], as: UTF8.self)
    }

    private static func isNameByte(_ byte: UInt8, isFirst: Bool) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"),
            UInt8(ascii: ":"), 0x80...0xFF:
            true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."): !isFirst
        default: false
        }
    }

    // MARK: - Text

    /// Text with its references replaced, up to a byte that ends it.
    ///
    /// With `spacesOnly`, literal white space becomes spaces, but white space from references does not (XML 1.0 3.3.3).
    private mutating func text(spacesOnly: Bool = false, until isEnd: (UInt8) -> Bool) throws(XMLError) -> String {
        var text: [UInt8] = []
        while !self.isAtEnd, !isEnd(self.bytes[self.offset]) {
            let byte = self.bytes[self.offset]
            guard byte >= 0x20 || byte == 0x09 || byte == 0x0A else { throw self.error("a control character stands") }
            if byte == UInt8(ascii: "&") {
                self.offset += 1
                text += Array(String(try self.reference()).utf8)
            } else {
                text.append(spacesOnly && byte < 0x20 ? 0x20 : byte)
                self.offset += 1
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private mutating func reference() throws(XMLError) -> Unicode.Scalar {
        let name = String(decoding: try self.take(until: ";", of: "a reference"), as: UTF8.self)
        switch name {
        case "lt": return "<"
        case "gt": return ">"
        case "amp": return "&"
        case "quot": return "\""
        case "apos": return "'"
        default:
            let digits = name.hasPrefix("#x") ? name.dropFirst(2) : name.dropFirst()
            guard name.hasPrefix("#"), digits.allSatisfy(\.isHexDigit),
                let value = UInt32(digits, radix: name.hasPrefix("#x") ? 16 : 10),
                let scalar = Unicode.Scalar(value), value >= 0x20 || [9, 10, 13].contains(value),
                value != 0xFFFE, value != 0xFFFF
            else { throw self.error("a reference means no character that is known") }
            return scalar
        }
    }
}
