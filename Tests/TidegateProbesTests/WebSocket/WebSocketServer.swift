import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket
import Synchronization
import TidegateTestKit

/// A WebSocket server that does the same with every connection, step by step, and closes it after the last one.
final class WebSocketServer: Sendable {
    enum Step: Sendable {
        case text(String)
        /// Sends bytes as they are: frames, or none.
        case bytes([UInt8])
        /// Sends them again and again, every few milliseconds as long as they are read.
        case flood([UInt8])
        /// Waits for a frame.
        case read
        /// Waits for the end.
        case hang
    }

    /// A frame that came.
    struct Received: Sendable, Hashable {
        let opcode: WebSocketOpcode
        let isMasked: Bool
        let data: [UInt8]

        var text: String { String(decoding: self.data, as: UTF8.self) }
    }

    fileprivate struct Record {
        var requests: [HTTPRequestHead] = []
        var frames: [Received] = []
        var endings = 0
    }

    let port: Int
    private let listener: any Channel
    private let record: Shared

    fileprivate final class Shared: Sendable {
        let value = Mutex(Record())
    }

    var requests: [HTTPRequestHead] { self.record.value.withLock { $0.requests } }
    var frames: [Received] { self.record.value.withLock { $0.frames } }
    /// How many connections have ended.
    var endings: Int { self.record.value.withLock { $0.endings } }

    /// Listens on loopback; `fields` are added to the answer.
    init(_ steps: [Step], fields: HTTPHeaders = [:], identity: TestAuthority.Identity? = nil) async throws {
        let record = Shared()
        self.record = record
        let tls = try identity.map { identity in
            try NIOSSLContext(
                configuration: .makeServerConfiguration(
                    certificateChain: try NIOSSLCertificate.fromPEMFile(identity.certificate).map { .certificate($0) },
                    privateKey: .privateKey(try NIOSSLPrivateKey(file: identity.key, format: .pem))))
        }
        let bootstrap = ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup).childChannelInitializer {
            channel in
            channel.eventLoop.makeCompletedFuture {
                channel.closeFuture.whenComplete { _ in record.value.withLock { $0.endings += 1 } }
                if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                let upgrader = NIOWebSocketServerUpgrader(
                    maxFrameSize: 1 << 24, automaticErrorHandling: false,
                    shouldUpgrade: { channel, head in
                        record.value.withLock { $0.requests.append(head) }
                        return channel.eventLoop.makeSucceededFuture(fields)
                    },
                    upgradePipelineHandler: { channel, _ in
                        channel.eventLoop.makeCompletedFuture {
                            try channel.pipeline.syncOperations.addHandler(WebSocketScript(steps, record))
                        }
                    })
                try channel.pipeline.syncOperations.configureHTTPServerPipeline(
                    withServerUpgrade: (upgraders: [upgrader], completionHandler: { _ in }))
            }
        }
        self.listener = try await bootstrap.bind(host: "127.0.0.1", port: 0).get()
        self.port = self.listener.localAddress?.port ?? 0
    }

    deinit { self.listener.close(promise: nil) }

    /// A frame of this server, with bits that it should not set if a test says so.
    static func frame(
        _ opcode: UInt8, _ text: String = "", isLast: Bool = true, bits: UInt8 = 0, isMasked: Bool = false
    ) -> [UInt8] {
        let payload = Array(text.utf8)
        var bytes = [(isLast ? 0x80 : 0) | bits | opcode]
        let mask: UInt8 = isMasked ? 0x80 : 0
        switch payload.count {
        case ..<126: bytes.append(mask | UInt8(payload.count))
        case ..<65_536: bytes += [mask | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default:
            bytes.append(mask | 127)
            bytes += (0..<8).reversed().map { UInt8(payload.count >> (8 * $0) & 0xFF) }
        }
        // A key of zeros changes nothing.
        return bytes + (isMasked ? [0, 0, 0, 0] : []) + payload
    }

    /// A close frame.
    static func close(_ code: UInt16, _ reason: String = "") -> [UInt8] {
        let payload = [UInt8(code >> 8), UInt8(code & 0xFF)] + Array(reason.utf8)
        return [0x88, UInt8(payload.count)] + payload
    }
}

private final class WebSocketScript: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = ByteBuffer

    private var steps: ArraySlice<WebSocketServer.Step>
    private let record: WebSocketServer.Shared
    private var isReading = false

    init(_ steps: [WebSocketServer.Step], _ record: WebSocketServer.Shared) {
        (self.steps, self.record) = (steps[...], record)
    }

    func handlerAdded(context: ChannelHandlerContext) { self.proceed(context) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = self.unwrapInboundIn(data)
        let received = WebSocketServer.Received(
            opcode: frame.opcode, isMasked: frame.maskKey != nil, data: Array(frame.unmaskedData.readableBytesView))
        self.record.value.withLock { $0.frames.append(received) }
        guard self.isReading else { return }
        self.isReading = false
        self.proceed(context)
    }

    private func proceed(_ context: ChannelHandlerContext) {
        while let step = self.steps.popFirst() {
            switch step {
            case .text(let text): self.write(WebSocketServer.frame(1, text), context)
            case .bytes(let bytes): self.write(bytes, context)
            case .flood(let bytes): return self.flood(bytes, context)
            case .read:
                self.isReading = true
                return
            case .hang: return
            }
        }
        context.close(promise: nil)
    }

    private func flood(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
        let loop = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        self.write(bytes, context).whenSuccess {
            // Not at once: the other tests of the process have the same threads.
            loop.eventLoop.scheduleTask(in: .milliseconds(2)) {
                let (handler, context) = loop.value
                handler.flood(bytes, context)
            }
        }
    }

    // Past the encoder of frames.
    @discardableResult
    private func write(_ bytes: [UInt8], _ context: ChannelHandlerContext) -> EventLoopFuture<Void> {
        do {
            let encoder = try context.pipeline.syncOperations.context(handlerType: WebSocketFrameEncoder.self)
            return encoder.writeAndFlush(NIOAny(ByteBuffer(bytes: bytes)))
        } catch {
            return context.eventLoop.makeFailedFuture(error)
        }
    }
}
