internal import ArgumentParser
internal import Glibc
internal import TidegateCore

/// Reads targets as people write them: an IPv6 zone may be the name of an interface.
enum TargetText {
    /// The target; `option` stands before the sentence where one is named.
    static func parse(_ text: String, of option: String?) throws -> Target {
        do {
            return try Target(text, zone: self.zone)
        } catch {
            throw ValidationError(option.map { "\($0): \(error)" } ?? error.description)
        }
    }

    /// The index of the interface that `name` names, by its name or its number; nil where there is none.
    static func zone(_ name: String) -> UInt32? {
        if let number = UInt32(name) {
            var buffer = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
            return if_indextoname(number, &buffer) == nil ? nil : number
        }
        let index = if_nametoindex(name)
        return index == 0 ? nil : index
    }
}

extension Target {
    /// The host as it stands before `:PORT`.
    var bracketed: String { self.address?.family == .ipv6 ? "[\(self.host)]" : self.host }
}
