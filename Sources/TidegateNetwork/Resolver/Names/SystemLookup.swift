internal import CLinux
internal import CNetlink
internal import Glibc
internal import TidegateCore

/// The system's own resolver: hosts file, name service switch, resolv.conf (getaddrinfo(3)).
enum SystemLookup {
    static func resolve(_ name: String) -> Result<[IPAddress], ResolveFailure> {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(name, nil, &hints, &list)
        guard code == 0 else { return .failure(self.failure(code)) }
        defer { freeaddrinfo(list) }
        var addresses: [IPAddress] = []
        var entry = list
        while let current = entry {
            if let address = self.address(current.pointee.ai_addr), !addresses.contains(address) {
                addresses.append(address)
            }
            entry = current.pointee.ai_next
        }
        return addresses.isEmpty ? .failure(.nameNotFound) : .success(addresses)
    }

    // EAI_NODATA (-5) and EAI_ADDRFAMILY (-9) need _GNU_SOURCE.
    private static func failure(_ code: Int32) -> ResolveFailure {
        switch code {
        case EAI_NONAME, -5, -9: .nameNotFound
        case EAI_AGAIN: .timedOut
        default: .failed
        }
    }

    private static func address(_ socketAddress: UnsafeMutablePointer<sockaddr>?) -> IPAddress? {
        guard let socketAddress else { return nil }
        let raw = UnsafeRawPointer(socketAddress)
        switch Int32(socketAddress.pointee.sa_family) {
        case AF_INET:
            let address = raw.loadUnaligned(as: sockaddr_in.self)
            return IPAddress(ipv4: UInt32(bigEndian: address.sin_addr.s_addr))
        case AF_INET6:
            let address = raw.loadUnaligned(as: sockaddr_in6.self)
            return withUnsafeBytes(of: address.sin6_addr) { IPAddress(octets: Array($0), zone: address.sin6_scope_id) }
        default:
            return nil
        }
    }
}
