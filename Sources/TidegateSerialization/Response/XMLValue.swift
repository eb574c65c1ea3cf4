/// An XML element with its attributes and what is in it.
public struct XMLValue: Sendable, Hashable {
    /// A piece of an element's content.
    public enum Content: Sendable, Hashable {
        /// An element.
        case element(XMLValue)
        /// Text, its references replaced, CDATA sections included.
        case text(String)
    }

    /// The name as it is written, with its prefix.
    public var name: String
    /// The attributes' values by name.
    public var attributes: [String: String] = [:]
    /// Elements and text in order; comments and processing instructions are left out.
    public var content: [Content] = []

    /// An element from its parts.
    public init(name: String, attributes: [String: String] = [:], content: [Content] = []) {
        self.name = name
        self.attributes = attributes
        self.content = content
    }

    /// The elements directly in this one.
    public var children: [XMLValue] {
        self.content.compactMap { if case .element(let element) = $0 { element } else { nil } }
    }

    /// The text in this element and all below it.
    public var text: String {
        self.content.map { content in
            switch content {
            case .element(let element): element.text
            case .text(let text): text
            }
        }.joined()
    }

    /// The first element directly in this one that has this name; nil if there is none.
    public subscript(name: String) -> XMLValue? { self.children.first { $0.name == name } }
}

/// Why a text is not XML; the message quotes nothing of it.
public struct XMLError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, in one clause.
    public let problem: String
    /// The line, from 1.
    public let line: Int

    /// One clause without a final full stop.
    public var description: String { "not XML: \(self.problem) in line \(self.line)" }
}
