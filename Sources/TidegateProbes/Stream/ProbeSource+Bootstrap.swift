internal import NIOCore
internal import TidegateCore
internal import TidegateNetwork

/// A source that this host does not have.
enum ProbeSourceError: Error {
    /// The interface does not exist.
    case noInterface(String)
}

extension ProbeSource {
    /// The address to bind sockets to; nil for none.
    var socketAddress: SocketAddress? {
        get throws {
            // A number only: nothing is looked up.
            try self.address.map { try SocketAddress.makeAddressResolvingHost("\($0)", port: 0) }
        }
    }

    /// What binds sockets to the interface; nil for none.
    ///
    /// SO_BINDTOIFINDEX (socket(7), Linux 5.1), which takes a number.
    var interfaceOption: (key: ChannelOptions.Types.SocketOption, value: Int)? {
        get throws {
            guard let name = self.interface else { return nil }
            guard let index = NetworkInterface.index(of: name) else { throw ProbeSourceError.noInterface(name) }
            return (
                ChannelOptions.Types.SocketOption(level: .socket, name: NIOBSDSocket.Option(rawValue: 62)),
                index
            )
        }
    }
}
