internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOHTTP1

/// A server's child channel whose connections have places, whose requests have a time limit, and which decrypts if the
/// access policy says so.
struct EndpointChannel<Base: ServerChildChannel>: ServerChildChannel {
    let base: Base
    /// Knows the policy; nil leaves every connection plain.
    let access: AccessController?
    let table: ConnectionTable
    /// How long a request may take to arrive.
    let requestTimeout: Duration

    // What is read at once is decoded at once: 4 KiB are no more than about 150 requests.
    private static var readSize: Int { 4096 }
    // No request has more, and what is not read yet waits in the client.
    private static var receiveBuffer: Int { 16384 }

    // Set up synchronously: NIO drops a connection whose setup still waits when its server stops.
    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
        self.base.setup(channel: channel, logger: logger).flatMapThrowing { value in
            let options = channel.syncOptions
            try options?.setOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.readSize))
            try options?.setOption(.maxMessagesPerRead, value: 1)
            try options?.setOption(.socketOption(.so_rcvbuf), value: Self.receiveBuffer)
            let pipeline = channel.pipeline.syncOperations
            let connection = ConnectionHandler(self.table, limit: .init(self.requestTimeout))
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(RequestHandler(connection), position: .after(decoder))
            if let access = self.access { try pipeline.addHandler(TLSDetectionHandler(access), position: .first) }
            try pipeline.addHandler(connection, position: .first)
            return value
        }
    }

    func handle(value: Base.Value, logger: Logger) async {
        await self.base.handle(value: value, logger: logger)
    }
}
