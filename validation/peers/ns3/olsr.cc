// OLSR in ns-3.37 on a graph without losses: the lengths of its routes, and what it sends.
//
// One line of JSON goes to standard output.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/olsr-module.h"

#include <iostream>
#include <string>
#include <utility>
#include <vector>

using namespace ns3;

namespace
{

using Edges = std::vector<std::pair<uint32_t, uint32_t>>;

/// Links between points of a square of 1000 that are nearer than `reach`. The generator is that of Knuth's MMIX.
Edges
RandomGraph(uint32_t nodes, uint32_t reach, uint64_t seed)
{
    uint64_t state = seed;
    auto next = [&state]() {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        return static_cast<int64_t>((state >> 33) % 1000);
    };
    std::vector<std::pair<int64_t, int64_t>> places;
    for (uint32_t i = 0; i < nodes; ++i)
    {
        int64_t x = next();
        int64_t y = next();
        places.emplace_back(x, y);
    }
    Edges edges;
    for (uint32_t a = 0; a < nodes; ++a)
    {
        for (uint32_t b = a + 1; b < nodes; ++b)
        {
            int64_t dx = places[a].first - places[b].first;
            int64_t dy = places[a].second - places[b].second;
            if (dx * dx + dy * dy < static_cast<int64_t>(reach) * reach)
            {
                edges.emplace_back(a, b);
            }
        }
    }
    return edges;
}

Edges
Grid(uint32_t width, uint32_t height)
{
    Edges edges;
    for (uint32_t i = 0; i < width * height; ++i)
    {
        if (i % width + 1 < width)
        {
            edges.emplace_back(i, i + 1);
        }
        if (i + width < width * height)
        {
            edges.emplace_back(i, i + width);
        }
    }
    return edges;
}

/// What was sent while it counted.
struct Sent
{
    double from;
    uint64_t packets{0};
    uint64_t bytes{0};

    void Count(const olsr::PacketHeader& header, const olsr::MessageList& messages)
    {
        if (Simulator::Now().GetSeconds() >= from)
        {
            ++packets;
            // The headers of IP, UDP and the packet are not in the messages.
            bytes += 20 + 8 + header.GetSerializedSize();
            for (const auto& message : messages)
            {
                bytes += message.GetSerializedSize();
            }
        }
    }
};

} // namespace

int
main(int argc, char* argv[])
{
    std::string graph = "chain";
    uint32_t nodeCount = 6;
    uint32_t reach = 300;
    uint64_t seed = 1;
    double measure = 30;
    double duration = 90;
    uint64_t run = 1;
    CommandLine commandLine(__FILE__);
    commandLine.AddValue("graph", "chain, grid (five nodes wide) or random", graph);
    commandLine.AddValue("nodes", "number of nodes", nodeCount);
    commandLine.AddValue("reach", "random: longest link in a square of 1000", reach);
    commandLine.AddValue("seed", "random: seed of the places", seed);
    commandLine.AddValue("measure", "packets count from this time, s", measure);
    commandLine.AddValue("duration", "end of the run, s", duration);
    commandLine.AddValue("run", "run number of the random streams", run);
    commandLine.Parse(argc, argv);
    RngSeedManager::SetSeed(12345);
    RngSeedManager::SetRun(run);

    Edges edges = graph == "random" ? RandomGraph(nodeCount, reach, seed)
                  : graph == "grid" ? Grid(5, nodeCount / 5)
                                    : Grid(nodeCount, 1);
    NodeContainer nodes(nodeCount);
    SimpleNetDeviceHelper helper;
    auto channel = CreateObject<SimpleChannel>();
    channel->SetAttribute("Delay", TimeValue(MilliSeconds(1)));
    NetDeviceContainer devices = helper.Install(nodes, channel);
    std::vector<std::vector<bool>> linked(nodeCount, std::vector<bool>(nodeCount, false));
    for (const auto& [a, b] : edges)
    {
        linked[a][b] = linked[b][a] = true;
    }
    for (uint32_t a = 0; a < nodeCount; ++a)
    {
        for (uint32_t b = 0; b < nodeCount; ++b)
        {
            if (a != b && !linked[a][b])
            {
                channel->BlackList(DynamicCast<SimpleNetDevice>(devices.Get(a)),
                                   DynamicCast<SimpleNetDevice>(devices.Get(b)));
            }
        }
    }
    InternetStackHelper stack;
    OlsrHelper olsr;
    stack.SetRoutingHelper(olsr);
    stack.Install(nodes);
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.1.0.0", "255.255.0.0");
    addresses.Assign(devices);

    Sent sent{measure};
    std::vector<Ptr<olsr::RoutingProtocol>> protocols;
    for (uint32_t i = 0; i < nodeCount; ++i)
    {
        auto protocol = nodes.Get(i)->GetObject<olsr::RoutingProtocol>();
        NS_ABORT_MSG_IF(!protocol, "node without OLSR");
        protocol->TraceConnectWithoutContext("Tx", MakeCallback(&Sent::Count, &sent));
        protocols.push_back(protocol);
    }
    Simulator::Stop(Seconds(duration));
    Simulator::Run();
    uint64_t reached = 0;
    uint64_t hops = 0;
    uint32_t longest = 0;
    for (const auto& protocol : protocols)
    {
        for (const auto& entry : protocol->GetRoutingTableEntries())
        {
            ++reached;
            hops += entry.distance;
            longest = std::max(longest, entry.distance);
        }
    }
    double seconds = duration - measure;
    std::cout << "{\"links\": " << edges.size() << ", \"routes\": " << reached << ", \"hops\": " << hops
              << ", \"longest\": " << longest << ", \"packets_per_s\": " << sent.packets / seconds
              << ", \"bytes_per_s\": " << sent.bytes / seconds << "}" << std::endl;
    Simulator::Destroy();
    return 0;
}
