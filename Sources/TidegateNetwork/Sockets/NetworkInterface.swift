internal import Glibc

/// The interfaces of this host by their names.
package enum NetworkInterface {
    /// The index of an interface (if_nametoindex(3)); nil if there is none of that name.
    package static func index(of name: String) -> Int? {
        let index = if_nametoindex(name)
        return index == 0 ? nil : Int(index)
    }
}
