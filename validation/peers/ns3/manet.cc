// TCP over an ad hoc network in ns-3.37: a chain, or nodes that move as a setdest file says.
//
// One line of JSON goes to standard output.

#include "olsr_watch.h"
#include "radio.h"

#include "ns3/aodv-module.h"
#include "ns3/applications-module.h"
#include "ns3/dsdv-module.h"
#include "ns3/internet-module.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

/// A bulk transfer from `start` to the end of the run.
struct Flow
{
    uint32_t source;
    uint32_t destination;
    double start;
};

/// Read a traffic file: kind, source, destination, start and stop on each line.
std::vector<Flow>
ReadTraffic(const std::string& path)
{
    std::ifstream file(path);
    NS_ABORT_MSG_IF(!file, "cannot read " << path);
    std::vector<Flow> flows;
    std::string line;
    while (std::getline(file, line))
    {
        std::istringstream words(line);
        std::string kind;
        Flow flow{};
        if (words >> kind >> flow.source >> flow.destination >> flow.start)
        {
            NS_ABORT_MSG_IF(kind != "tcp", "flows of kind " << kind << " are not supported");
            flows.push_back(flow);
        }
    }
    return flows;
}

/// Defaults of every TCP socket.
void
ConfigureTcp(const std::string& variant, uint32_t payload, uint32_t window, bool sack)
{
    // ns-3 has Westwood+ as a kind of Westwood.
    bool plus = variant == "TcpWestwoodPlus";
    Config::SetDefault("ns3::TcpWestwood::ProtocolType",
                       EnumValue(plus ? TcpWestwood::WESTWOODPLUS : TcpWestwood::WESTWOOD));
    const std::string type = plus ? "TcpWestwood" : variant;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                       TypeIdValue(TypeId::LookupByName("ns3::" + type)));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(TypeId::LookupByName(sack ? "ns3::TcpPrrRecovery"
                                                             : "ns3::TcpClassicRecovery")));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(sack));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(1)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(payload));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    // The sender's buffer bounds the window: ns-3.37 fails when the receiver's does.
    Config::SetDefault("ns3::TcpSocket::SndBufSize",
                       UintegerValue(window > 0 ? window * payload : 131072));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(262144));
    // A connection is never given up, as in ns-2.
    Config::SetDefault("ns3::TcpSocket::ConnCount", UintegerValue(1000000));
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(1000000));
}

void
PlaceChain(const NodeContainer& nodes, double spacing)
{
    MobilityHelper mobility;
    auto positions = CreateObject<ListPositionAllocator>();
    for (uint32_t i = 0; i < nodes.GetN(); ++i)
    {
        positions->Add(Vector(i * spacing, 0, 0));
    }
    mobility.SetPositionAllocator(positions);
    mobility.Install(nodes);
}

void
InstallInternet(const NodeContainer& nodes, const std::string& routing)
{
    InternetStackHelper stack;
    if (routing == "aodv")
    {
        stack.SetRoutingHelper(AodvHelper());
    }
    else if (routing == "olsr")
    {
        stack.SetRoutingHelper(OlsrHelper());
    }
    else
    {
        NS_ABORT_MSG_IF(routing != "dsdv", "unknown routing " << routing);
        stack.SetRoutingHelper(DsdvHelper());
    }
    stack.Install(nodes);
}

/// Give what a device receives to IP and ARP only after a delay, so that it finds the MAC sending its ACK. Without one,
/// ns-3's MAC takes an answer that comes with the end of a frame for one that finds the medium idle.
void
DelayReceived(const NetDeviceContainer& devices, Time delay)
{
    for (auto device = devices.Begin(); device != devices.End(); ++device)
    {
        auto node = (*device)->GetNode();
        auto later = [node, delay](Ptr<NetDevice> to,
                                   Ptr<const Packet> packet,
                                   uint16_t protocol,
                                   const Address& from) {
            Simulator::Schedule(delay, [=]() {
                auto own = to->GetAddress();
                if (protocol == ArpL3Protocol::PROT_NUMBER)
                {
                    auto arp = node->GetObject<ArpL3Protocol>();
                    arp->Receive(to, packet, protocol, from, own, NetDevice::PACKET_HOST);
                }
                else
                {
                    auto ip = node->GetObject<Ipv4L3Protocol>();
                    ip->Receive(to, packet, protocol, from, own, NetDevice::PACKET_HOST);
                }
            });
            return true;
        };
        (*device)->SetReceiveCallback(
            Callback<bool, Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address&>(later));
    }
}

/// Hops of the data packets that arrive: how far their time to live has fallen below the first one, 64.
struct Arrivals
{
    uint32_t payload;
    double from;
    uint64_t packets{0};
    uint64_t hops{0};

    void Count(const Ipv4Header& header, Ptr<const Packet> packet, uint32_t)
    {
        bool data = header.GetProtocol() == TcpL4Protocol::PROT_NUMBER && packet->GetSize() >= payload;
        if (data && Simulator::Now().GetSeconds() >= from)
        {
            ++packets;
            hops += 65 - header.GetTtl();
        }
    }
};

} // namespace

int
main(int argc, char* argv[])
{
    peers::RadioOptions radio;
    uint32_t nodeCount = 6;
    double spacing = 200;
    std::string movement;
    std::string traffic;
    double start = 20;
    std::string routing = "aodv";
    std::string variant = "TcpNewReno";
    uint32_t payload = 512;
    uint32_t window = 0;
    bool sack = true;
    double received = 0;
    double measure = 0;
    double duration = 80;
    uint64_t run = 1;
    CommandLine commandLine(__FILE__);
    radio.Register(commandLine);
    commandLine.AddValue("nodes", "number of nodes", nodeCount);
    commandLine.AddValue("spacing", "chain: distance between neighbours, m", spacing);
    commandLine.AddValue("movement", "file of setdest commands, instead of a chain", movement);
    commandLine.AddValue("traffic", "file of flows, instead of one from end to end; none: no flow", traffic);
    commandLine.AddValue("start", "chain: start of the flow, s", start);
    commandLine.AddValue("routing", "aodv, dsdv or olsr", routing);
    commandLine.AddValue("variant", "TcpNewReno, TcpVegas and so on", variant);
    commandLine.AddValue("payload", "payload of a segment, bytes", payload);
    commandLine.AddValue("window", "send buffer, segments; 0: 131072 bytes", window);
    commandLine.AddValue("sack", "SACK and PRR; 0: neither", sack);
    commandLine.AddValue("received", "delay from a frame's end to IP, s", received);
    commandLine.AddValue("measure", "goodput counts from this time, s", measure);
    commandLine.AddValue("duration", "end of the run, s", duration);
    commandLine.AddValue("run", "run number of the random streams", run);
    commandLine.Parse(argc, argv);
    peers::SetRun(run);
    ConfigureTcp(variant, payload, window, sack);

    NodeContainer nodes(nodeCount);
    if (movement.empty())
    {
        PlaceChain(nodes, spacing);
    }
    else
    {
        Ns2MobilityHelper(movement).Install();
    }
    NetDeviceContainer devices = peers::InstallRadio(nodes, radio);
    peers::FrameCounter frames(devices);
    InstallInternet(nodes, routing);
    Ipv4AddressHelper network("10.0.0.0", "255.255.0.0");
    Ipv4InterfaceContainer addresses = network.Assign(devices);

    if (received > 0)
    {
        DelayReceived(devices, Seconds(received));
    }

    std::vector<Flow> flows{{0, nodeCount - 1, start}};
    if (!traffic.empty())
    {
        flows = traffic == "none" ? std::vector<Flow>{} : ReadTraffic(traffic);
    }
    std::vector<Ptr<PacketSink>> sinks;
    uint16_t port = 5000;
    for (const Flow& flow : flows)
    {
        ++port;
        PacketSinkHelper sink("ns3::TcpSocketFactory",
                              InetSocketAddress(Ipv4Address::GetAny(), port));
        sinks.push_back(DynamicCast<PacketSink>(sink.Install(nodes.Get(flow.destination)).Get(0)));
        BulkSendHelper sender("ns3::TcpSocketFactory",
                              InetSocketAddress(addresses.GetAddress(flow.destination), port));
        sender.SetAttribute("SendSize", UintegerValue(payload));
        sender.Install(nodes.Get(flow.source)).Start(Seconds(flow.start));
    }

    Arrivals arrivals{payload, measure};
    for (auto node = nodes.Begin(); node != nodes.End(); ++node)
    {
        (*node)->GetObject<Ipv4L3Protocol>()->TraceConnectWithoutContext(
            "LocalDeliver",
            MakeCallback(&Arrivals::Count, &arrivals));
    }
    std::unique_ptr<peers::OlsrWatch> olsr;
    if (routing == "olsr")
    {
        olsr = std::make_unique<peers::OlsrWatch>(nodes, radio.range, measure);
    }

    auto arrived = [&sinks]() {
        uint64_t bytes = 0;
        for (const auto& sink : sinks)
        {
            bytes += sink->GetTotalRx();
        }
        return bytes;
    };
    uint64_t before = 0;
    Simulator::Schedule(Seconds(measure), [&]() { before = arrived(); });
    Simulator::Stop(Seconds(duration));
    Simulator::Run();

    std::printf("{\"simulated_s\": %g, \"measured_s\": %g, \"goodput_kbps\": %.6g, "
                "\"frames_sent\": %lu, \"events\": %lu, \"data_hops\": %.6g",
                duration,
                duration - measure,
                (arrived() - before) * 8 / (duration - measure) / 1000,
                static_cast<unsigned long>(frames.Count()),
                static_cast<unsigned long>(Simulator::GetEventCount()),
                arrivals.packets > 0 ? static_cast<double>(arrivals.hops) / arrivals.packets : 0.0);
    if (olsr)
    {
        double seconds = duration - measure;
        std::printf(", \"packets_per_s\": %.6g, \"bytes_per_s\": %.6g, \"hello_per_s\": %.6g, "
                    "\"tc_per_s\": %.6g, \"tc_forwarded_per_s\": %.6g, \"converged_s\": %.6g, "
                    "\"routes_pct\": %.6g, \"route_hops\": %.6g, \"shortest_hops\": %.6g",
                    olsr->packets / seconds,
                    olsr->bytes / seconds,
                    olsr->hellos / seconds,
                    olsr->tcs / seconds,
                    olsr->forwardedTcs / seconds,
                    olsr->convergedS,
                    100.0 * olsr->routes / olsr->pairs,
                    static_cast<double>(olsr->routeHops) / olsr->routes,
                    static_cast<double>(olsr->shortestHops) / olsr->routes);
    }
    std::printf("}\n");
    Simulator::Destroy();
    return 0;
}
