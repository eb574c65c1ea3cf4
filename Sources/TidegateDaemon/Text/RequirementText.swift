package import TidegateCore

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
