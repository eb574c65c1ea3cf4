internal import NIOCore
internal import TidegateCore
internal import TidegateNetwork
internal import TidegateTransfer

// How a probe's source becomes options of a socket or of a transfer.
extension ProbeSource {
    /// The interface of a module does not exist.
    struct NoInterface: Error { let name: String }

    /// The address to bind to; nil for the kernel's choice.
    var socketAddress: SocketAddress? {
        // A number only: nothing is looked up.
        get throws { try self.address.map { try SocketAddress.makeAddressResolvingHost("\($0)", port: 0) } }
    }

    /// SO_BINDTOIFINDEX (socket(7), Linux 5.1), which takes a number; nil for any interface.
    ///
    /// - Throws: ``NoInterface``.
    var interfaceOption: (key: ChannelOptions.Types.SocketOption, value: Int)? {
        get throws(NoInterface) {
            guard let name = self.interface else { return nil }
            guard let index = NetworkInterface.index(of: name) else { throw NoInterface(name: name) }
            return (ChannelOptions.Types.SocketOption(level: .socket, name: NIOBSDSocket.Option(rawValue: 62)), index)
        }
    }

    /// The same for a transfer; nil for the kernel's choice.
    var transferSource: TransferSource? {
        self.address.map(TransferSource.address) ?? self.interface.map(TransferSource.interface)
    }

    /// What this host lacks of it, if that is why a transfer could not connect; nil if it is not.
    func missing(after error: SocketError?) -> String? {
        if let address = self.address, error == .addressNotAvailable {
            return "this host does not have the source address \(address)"
        }
        return self.interface.flatMap { NetworkInterface.index(of: $0) == nil ? "there is no interface \($0)" : nil }
    }
}
