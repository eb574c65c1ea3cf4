package import TidegateCore

/// What a gate asks for, as people write it on the command line and in the file.
package enum RequirementText {
    /// Parses `none`, `routed`, `online`, `unmetered` or `interface:NAME`; the error quotes any other word.
    package static func parse(_ text: String) throws(TextError) -> Requirement {
        guard let requirement = Requirement(text) else {
            throw TextError("\"\(text)\" is not one of none, routed, online, unmetered, interface:NAME")
        }
        return requirement
    }
}
