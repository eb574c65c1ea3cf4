internal import ArgumentParser
internal import Glibc
internal import Tidegate
internal import TidegateCore

/// Parses targets; an IPv6 zone may be the name of an interface.
enum TargetText {
    /// A host, a host with a port, or a URL.
    static func parseSubject(_ text: String) throws -> ExplainTarget {
        do {
            // A text with a scheme can only be a URL: what is wrong with it is not what would be wrong with a host.
            if text.contains("://") {
                let target = try HTTPURL(text, zone: self.zone).target
                // Without brackets the last group could be a port (RFC 3986 3.2.2).
                guard target.address?.family != .ipv6 || text.contains("[") else {
                    throw TextError("the IPv6 address in \"\(text)\" must be in brackets: [\(target.host)]")
                }
            }
            return try ExplainTarget(text, zone: self.zone)
        } catch {
            throw ValidationError("\(error)")
        }
    }

    /// The index of an interface, given by name or number; nil if there is no such interface.
    static func zone(_ name: String) -> UInt32? {
        if let number = UInt32(name) {
            var buffer = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
            return if_indextoname(number, &buffer) == nil ? nil : number
        }
        let index = if_nametoindex(name)
        return index == 0 ? nil : index
    }
}
