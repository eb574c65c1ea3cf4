/// Shows URLs without what only their owners should see.
package enum URLText {
    /// A URL without user information, query and fragment.
    package static func redacted(_ url: String) -> String {
        let bare = url.prefix { $0 != "?" && $0 != "#" }
        guard let slashes = bare.firstIndex(of: "/"), bare[slashes...].hasPrefix("//") else { return String(bare) }
        let start = bare.index(slashes, offsetBy: 2)
        let end = bare[start...].firstIndex(of: "/") ?? bare.endIndex
        guard let at = bare[start..<end].lastIndex(of: "@") else { return String(bare) }
        return bare[..<start] + String(bare[bare.index(after: at)...])
    }
}
