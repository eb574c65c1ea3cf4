package import Tidegate

/// Parses a gate's requirement on the command line and in the configuration file.
package enum RequirementText {
    /// Parses `none`, `routed`, `online`, `unmetered` or `interface:NAME`; the error quotes any other text.
    package static func parse(_ text: String) throws(TextError) -> Requirement {
        guard let requirement = Requirement(text) else {
            throw TextError("\"\(text)\" is not one of none, routed, online, unmetered, interface:NAME")
        }
        return requirement
    }
}

extension ContentDigest {
    /// Parses a SHA-256; the error quotes any other text.
    package init(parsing text: String) throws(TextError) {
        guard let digest = ContentDigest(text) else {
            throw TextError("\"\(text)\" is not a SHA-256 digest (64 hexadecimal digits)")
        }
        self = digest
    }
}

/// Parses permission bits in octal.
enum FileModeText {
    /// At most `0777`: a download must not become a set-user-ID program.
    static func parse(_ text: String) throws(TextError) -> UInt16 {
        guard (3...4).contains(text.count), let mode = UInt16(text, radix: 8) else {
            throw TextError("\"\(text)\" is not a file mode (such as \"0640\")")
        }
        guard mode <= 0o777 else {
            throw TextError("\"\(text)\" has bits other than permissions (maximum \"0777\")")
        }
        return mode
    }
}
